/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that build a filesystem in bulk share. */
#ifndef FS_BUILD_IMPL_H
#define FS_BUILD_IMPL_H

#include "base/check.h"
#include "fs/build.h"
#include "fs/create_impl.h"
#include "fs/xattr_format.h"

#define BUILD_DIRECT      12u   /* pointers in an inode */
#define BUILD_XATTR_USERS 1024u /* of one block, as Linux shares them */
#define BUILD_BODY        164u  /* bytes of an inode before its attributes */

/* Free space as it is dealt out: what was passed over, and everything from cursor on. */
struct build_space {
	uint64_t cursor;
	struct block_run *gaps;
	size_t ngaps, gaps_cap, gap_at; /* those before gap_at are used up */
	struct block_run *used;         /* in the order they were taken */
	size_t nused, used_cap;
	struct block_run *given; /* back: of used each once, and maybe used again */
	size_t ngiven, given_cap;
	uint64_t taken; /* blocks of used without those of given */
};

/* The value of attributes that lies in an inode of its own. */
struct build_value {
	struct hash_node node;
	struct build_inode inode;
	uint64_t users; /* entries, in blocks or behind inodes */
	uint32_t hash;
	uint8_t bytes[];
};

/* An entry of a set that has such a value. */
struct build_user {
	struct build_value *value;
	bool in_body;
};

struct build {
	struct create_opts o;
	enum build_size how;
	uint64_t free_bytes;
	struct diag *diag;
	struct sizes z;      /* of the size that is being tried */
	struct layout l;     /* its superblock and geometry */
	bool exact;          /* heads are those of z; else all have reserve blocks */
	bool settled;        /* contents have their places */
	uint32_t reserve;    /* blocks of a head whose true length is not known yet */
	uint64_t data_end;   /* the cursor behind contents that were placed before the plan */
	uint64_t tables_end; /* behind clusters of bitmaps and tables that are on the bill */
	struct build_space space, mark; /* mark: behind contents */
	struct build_inode *waiting, *last_waiting;
	struct hash sets, values;
	uint64_t secret; /* of their keys: attributes come from whoever made an archive */
	struct build_inode **inodes; /* those of values last */
	struct build_inode **list;   /* inodes, when there are values, or NULL */
	uint32_t n;
	uint32_t *dirs; /* folders of each group */
	uint32_t orphan_ino, project_ino;
	struct quota_list use[QUOTA_TYPES]; /* until the layout has them */
	uint32_t without;                   /* features that a size was too small for */
	const struct build_inode *lost;
	struct build_bill bill;
};

/* ---- space ---- */

/* Blocks of all clusters that so many blocks from the front of one on take. */
static inline uint64_t build_whole(const struct build *b, uint64_t blocks)
{
	uint64_t mask = (1ull << b->z.log_cluster) - 1;

	return (blocks + mask) & ~mask;
}

/* Blocks at the front of a group that no file may have: whole clusters. */
uint32_t build_head(const struct build *b, uint32_t group);

/* The next free run, at most want blocks; gaps shorter than min_gap are left alone.  It begins a
 * cluster, and nobody else gets anything of the clusters it lies in. */
int build_take(struct build *b, uint64_t want, uint64_t min_gap, struct block_run *ret);

/* len blocks in one piece behind the cursor, not noted as used and not rounded to clusters: group
 * metadata, which lies block by block. */
int build_take_whole(struct build *b, uint64_t len, uint64_t *ret);

/* A run of a file; -EFBIG where no pointer leads to it. */
int build_note_used(struct build *b, struct block_run r);

/* What was taken is a gap from now on. */
int build_give(struct build *b, struct block_run r);

/* Everything that is in use, in ascending runs with something between them; the caller frees
 * them.  The space has none of it afterwards. */
int build_used(struct build *b, struct block_run **ret, size_t *n);

int build_add_gap(struct build *b, struct block_run r);

/* Heads have their true length now: what was kept for them in vain is free. */
int build_free_heads(struct build *b);

int build_space_copy(struct build_space *to, const struct build_space *from);
void build_space_free(struct build_space *s);

/* ---- runs and maps ---- */

/* Room for n blocks of the inode's from lblk on. */
int build_place_run(struct build *b, struct build_inode *inode, uint32_t lblk, uint32_t len);
/* Places of all its runs, which have none. */
int build_place_runs(struct build *b, struct build_inode *inode);
void build_unplace_runs(struct build_inode *inode);
uint32_t build_count_map(const struct build *b, const struct build_inode *inode);

/* ---- the plan ---- */

/* Blocks that the inode is charged with; everything has its place. */
uint64_t build_inode_blocks(const struct build *b, const struct build_inode *x);

/* Everything gets a place in a filesystem of so many blocks and inodes, as if there were no end;
 * *end says where that is. */
int build_try_size(struct build *b, uint64_t blocks, uint64_t inodes, uint64_t *end);

/* ---- writing ---- */

/* Neighbouring blocks go out together. */
struct build_out {
	struct dev *dev;
	uint8_t *buf;
	size_t len;
	uint64_t at; /* of buf, bytes */
};

#define BUILD_OUT ((size_t)1 << 20)

int build_out(struct build_out *o, uint64_t at, const void *bytes, size_t len);
int build_out_flush(struct build_out *o);

/* Maps the inode's runs in r, and writes what lies outside the inode. */
int build_map(struct build *b, struct build_out *o, const struct build_inode *inode,
	      struct inode_rec *r);

/* Sorts the folder's names as they will be stored and counts its blocks. */
int build_dir_plan(struct build *b, struct build_inode *dir);
int build_dir_write(struct build *b, struct build_out *o, const struct build_inode *dir);

/* A name at a place of a folder's bytes, size of which are its. */
void build_dir_put(const struct build *b, uint8_t *bytes, uint32_t at, const struct build_name *n,
		   uint32_t size);

/* Whether the folder, with its names sorted, fits its inode. */
bool build_dir_inside(const struct build *b, struct build_inode *dir);

/* What lies in the inode: its beginning to r, the rest beside the attributes in body.  bytes: room
 * for an inode. */
int build_inside_put(const struct build *b, const struct build_inode *x, uint8_t *bytes,
		     struct inode_rec *r, uint8_t *body);

/* The value goes to an inode, which v->inum stands for until there are numbers.  The caller says
 * afterwards where the entry is. */
int build_value_take(struct build *b, struct build_xattrs *set, struct xattr_value *v);
void build_values_free(struct build *b);

/* Values that are used join the inodes; users of sets are counted by then. */
int build_values_list(struct build *b);
/* Entries get the numbers of their values. */
void build_values_name(struct build *b);
void build_value_record(const struct build_value *v, struct inode_rec *r);
int build_value_write(struct build *b, struct build_out *o, const struct build_inode *x);

/* Who the owners are, then what they have: the layout gets that. */
int build_quota_plan(struct build *b);
void build_quota_count(struct build *b);
void build_quota_free(struct build *b);

void build_xattrs_free(struct build_xattrs *set);
int build_xattrs_write(struct build *b, struct build_out *o);

int build_fill(struct create_writer *w, struct super_raw *sb, void *ctx);

/* The log is one of the filesystem's files. */
static inline bool build_has_log(const struct build *b)
{
	return (b->o.compat & COMPAT_HAS_JOURNAL) != 0 && !b->o.external_log;
}

static inline bool build_has_extents(const struct build *b)
{
	return (b->o.incompat & INCOMPAT_EXTENTS) != 0;
}

#endif
