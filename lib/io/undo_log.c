/* SPDX-License-Identifier: BSD-2-Clause */
/* The undo file's format, written record by record and played back until the first torn one. */
#include "io/undo_log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/dev.h"
#include "io/temp.h"

#define MAGIC_RECORD 0x52554b45u /* "EKUR" */

enum kind { KIND_DATA = 1, KIND_ZEROS = 2 };

struct head {
	uint8_t magic[8];
	le64 size;
	struct undo_id id;
	le32 crc; /* of what is before */
};

struct record {
	le32 magic, kind;
	le64 off;
	le32 len;
	le32 data_crc;
	le32 crc; /* of what is before */
	le32 zero;
};

static_assert(sizeof(struct head) == 60 && sizeof(struct record) == 32, "undo file");

static const uint8_t head_magic[8] = {'e', 'x', 't', 'k', 'i', 't', 'U', '1'};

static uint32_t crc_of(const void *p, size_t n)
{
	return crc32c(~0u, p, n);
}

/* ---- writing ---- */

static int file_write(struct undo_log *log, const void *bytes, size_t len, uint64_t at)
{
	const uint8_t *p = bytes;

	while (len > 0) {
		ssize_t n = pwrite(log->fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return diag_errno(log->diag, n < 0 ? -errno : -EIO, "cannot write %s",
					  log->name);
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static int append(struct undo_log *log, const void *bytes, size_t len)
{
	if (log->fd >= 0) {
		int rc = file_write(log, bytes, len, log->end);

		log->end += rc == 0 ? len : 0;
		return rc;
	}
	str_add(&log->bytes, bytes, len);
	return log->bytes.err;
}

int undo_log_add(struct undo_log *log, uint64_t off, const void *data, size_t len)
{
	struct record r = {
	    .magic = le32_make(MAGIC_RECORD),
	    .kind = le32_make(data != NULL ? KIND_DATA : KIND_ZEROS),
	    .off = le64_make(off),
	    .len = le32_make((uint32_t)len),
	    .data_crc = le32_make(data != NULL ? crc_of(data, len) : 0),
	};
	int rc;

	r.crc = le32_make(crc_of(&r, offsetof(struct record, crc)));
	rc = append(log, &r, sizeof(r));
	if (rc == 0 && data != NULL)
		rc = append(log, data, len);
	log->dirty = true;
	return rc;
}

int undo_log_sync(struct undo_log *log)
{
	if (!log->dirty || log->fd < 0)
		return 0;
	if (fdatasync(log->fd) < 0)
		return diag_errno(log->diag, -errno, "cannot write %s", log->name);
	log->dirty = false;
	return 0;
}

/* The head comes when the records are safe: without it the file says nothing. */
static int write_head(struct undo_log *log, uint64_t size, const struct undo_id *id)
{
	struct head h = {.size = le64_make(size), .id = *id};
	int rc;

	log->dirty = true;
	rc = undo_log_sync(log);
	if (rc < 0)
		return rc;
	memcpy(h.magic, head_magic, sizeof(h.magic));
	h.crc = le32_make(crc_of(&h, offsetof(struct head, crc)));
	rc = file_write(log, &h, sizeof(h), 0);
	if (rc < 0)
		return rc;
	log->dirty = true;
	return undo_log_sync(log);
}

int undo_log_arm(struct undo_log *log, const char *path, uint64_t size, const struct undo_id *id)
{
	int rc;

	log->name = path;
	log->end = UNDO_HEAD;
	log->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (log->fd < 0)
		return diag_errno(log->diag, -errno, "cannot make %s", path);
	rc = append(log, log->bytes.p, log->bytes.len);
	if (rc == 0)
		rc = write_head(log, size, id);
	if (rc == 0) {
		rc = temp_sync_folder(path);
		if (rc < 0)
			diag_errno(log->diag, rc, "cannot write the folder of %s", path);
	}
	if (rc < 0) { /* nobody relied on it yet, and memory still has everything */
		close(log->fd);
		log->fd = -1;
		unlink(path);
		return rc;
	}
	str_free(&log->bytes);
	return 0;
}

/* ---- reading ---- */

static int file_read(const struct undo_log *log, uint64_t at, void *to, size_t len)
{
	uint8_t *p = to;

	while (len > 0) {
		ssize_t n = pread(log->fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* -ENODATA where the records end. */
static int fetch(const struct undo_log *log, uint64_t at, void *to, size_t len)
{
	if (log->fd >= 0)
		return file_read(log, at, to, len);
	if (at > log->bytes.len || len > log->bytes.len - at)
		return -ENODATA;
	if (len != 0)
		memcpy(to, log->bytes.p + at, len);
	return 0;
}

int undo_log_open(struct undo_log *log, const char *path, uint64_t *ret_size,
		  struct undo_id *ret_id)
{
	struct stat st;
	struct head h;
	int rc;

	log->name = path;
	log->fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (log->fd < 0 || fstat(log->fd, &st) < 0)
		return diag_errno(log->diag, -errno, "cannot open %s", path);
	if (!S_ISREG(st.st_mode))
		return diag_set(log->diag, -EINVAL, "cannot use %s: it is no file", path);
	log->end = (uint64_t)st.st_size;
	rc = file_read(log, 0, &h, sizeof(h));
	if (rc < 0 && rc != -ENODATA)
		return diag_errno(log->diag, rc, "cannot read %s", path);
	/* a crash while it was made: nothing that counts was overwritten yet */
	if (rc == -ENODATA || memcmp(&h, &(struct head){0}, sizeof(h)) == 0)
		return -ENODATA;
	if (memcmp(h.magic, head_magic, sizeof(head_magic)) != 0)
		return diag_set(log->diag, -EINVAL, "cannot use %s: it is no undo file", path);
	if (le32_get(h.crc) != crc_of(&h, offsetof(struct head, crc)))
		return diag_set(log->diag, -EBADMSG, "corrupt undo file: %s: checksum of the head",
				path);
	*ret_size = le64_get(h.size);
	*ret_id = h.id;
	return 0;
}

/* The record at *at, which moves behind it: 1; 0 where the whole ones end. */
static int next_record(const struct undo_log *log, uint64_t *at, struct record *ret, uint8_t *data)
{
	struct record r;
	uint32_t len;
	int rc = fetch(log, *at, &r, sizeof(r));

	if (rc == -ENODATA)
		return 0;
	if (rc < 0)
		return rc;
	len = le32_get(r.len);
	if (le32_get(r.magic) != MAGIC_RECORD || len > UNDO_PIECE ||
	    le32_get(r.crc) != crc_of(&r, offsetof(struct record, crc)))
		return 0;
	if (le32_get(r.kind) == KIND_DATA) {
		rc = fetch(log, *at + sizeof(r), data, len);
		if (rc < 0 || le32_get(r.data_crc) != crc_of(data, len))
			return rc == 0 || rc == -ENODATA ? 0 : rc;
		*at += len;
	}
	*at += sizeof(r);
	*ret = r;
	return 1;
}

int undo_log_play(const struct undo_log *log, struct dev *to, struct undo_done *done)
{
	uint64_t at = log->fd >= 0 ? UNDO_HEAD : 0;
	uint8_t *data = mem_aligned(4096, UNDO_PIECE);
	struct record r = {0};
	int rc = data == NULL ? -ENOMEM : 0;

	while (rc == 0) {
		rc = next_record(log, &at, &r, data);
		if (rc <= 0)
			break;
		rc = le32_get(r.kind) == KIND_DATA
			 ? dev_write(to, le64_get(r.off), data, le32_get(r.len))
			 : dev_zero(to, le64_get(r.off), le32_get(r.len));
		done->records += rc == 0 ? 1 : 0;
		done->bytes += rc == 0 ? le32_get(r.len) : 0;
	}
	free(data);
	return rc;
}

void undo_log_close(struct undo_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
	str_free(&log->bytes);
}
