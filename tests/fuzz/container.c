/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a file that may be a container: opened, read from both ends, or looked at before a
 * server would be started. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/diag.h"
#include "io/container.h"
#include "io/dev.h"
#include "io/qemu_impl.h"

#define READ   ((size_t)5000)
#define PIECES 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same bytes twice, the second time after others were read in between. */
static void read_all(struct dev *dev)
{
	static uint8_t first[READ], again[READ];
	uint64_t step = MAX(dev->size / PIECES, (uint64_t)1);

	for (uint64_t off = 0; off < dev->size; off += step) {
		size_t n = (size_t)MIN((uint64_t)READ, dev->size - off);
		uint64_t far = dev->size - n;
		int rc = dev_read(dev, off, first, n);

		if (dev_read(dev, far, again, n) < 0 || rc < 0)
			continue;
		if (dev_read(dev, off, again, n) < 0 || memcmp(first, again, n) != 0)
			abort();
	}
	if (dev->writable)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag d = {0};
	enum container kind = container_find(data, size);
	struct dev *file, *dev;

	if (dev_open_memory(size, &d, &file) < 0)
		return 0;
	if (size != 0 && dev_write(file, 0, data, size) < 0)
		abort();
	if (container_is_writable(kind)) {
		(void)!qemu_check(file, kind);
		dev_close(file);
		return 0;
	}
	if (container_open(file, 0, &dev) == 0) {
		if (kind != CONTAINER_RAW)
			read_all(dev);
		dev_close(dev);
	} else if (d.code == 0) {
		abort(); /* without a story */
	}
	return 0;
}
