/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit info: what the superblock says. */
#include <inttypes.h>
#include <string.h>

#include "cmd.h"
#include "fail.h"
#include "show.h"
#include "target.h"

static void uuid_row(struct out *out, const char *key, const char *label, const uint8_t *u)
{
	char text[SHOW_MAX];

	out_str(out, key, label, show_uuid(text, u));
}

static void size_row(struct out *out, const char *key, const char *label, uint64_t bytes)
{
	char text[SHOW_MAX];

	out_u64_as(out, key, label, bytes, show_size(text, bytes));
}

static void time_row(struct out *out, const char *key, const char *label, struct ek_time t)
{
	char text[SHOW_MAX];

	if (t.sec == 0 && t.nsec == 0)
		out_none(out, key, label);
	else
		out_str(out, key, label, show_time(text, t));
}

static void identity(struct out *out, const struct ek_facts *f)
{
	out_str(out, "revision", _("Filesystem"), f->revision);
	out_str(out, "label", _("Label"), f->label);
	uuid_row(out, "uuid", _("UUID"), f->uuid);
	out_str(out, "features", _("Features"), f->features);
	out_bool(out, "clean", _("Clean"), (f->state & EK_STATE_CLEAN) != 0);
	out_bool(out, "recovered", _("Journal had to be replayed"),
		 (f->state & EK_STATE_DIRTY) != 0);
	out_bool(out, "errors", _("Errors seen by the kernel"), (f->state & EK_STATE_ERRORS) != 0);
}

static void sizes(struct out *out, const struct ek_facts *f, const struct ek_space *s)
{
	size_row(out, "bytes", _("Size"), f->blocks * f->block_size);
	out_u64(out, "block_size", _("Block size"), f->block_size);
	if (f->cluster_size != f->block_size)
		out_u64(out, "cluster_size", _("Cluster size"), f->cluster_size);
	out_u64(out, "blocks", _("Blocks"), f->blocks);
	out_u64(out, "free_blocks", _("Free blocks"), s->free_blocks);
	out_u64(out, "reserved_blocks", _("Reserved blocks"), f->reserved_blocks);
	out_u64(out, "overhead_blocks", _("Overhead blocks"), f->overhead_blocks);
	out_u64(out, "inodes", _("Inodes"), f->inodes);
	out_u64(out, "free_inodes", _("Free inodes"), s->free_inodes);
	out_u64(out, "inode_size", _("Inode size"), f->inode_size);
	out_u64(out, "first_inode", _("First inode"), f->first_inode);
	size_row(out, "journal_bytes", _("Journal"), f->journal_blocks * f->block_size);
}

static void layout(struct out *out, const struct ek_facts *f)
{
	out_u64(out, "groups", _("Groups"), f->groups);
	out_u64(out, "blocks_per_group", _("Blocks per group"), f->blocks_per_group);
	out_u64(out, "inodes_per_group", _("Inodes per group"), f->inodes_per_group);
	out_u64(out, "flex_groups", _("Groups per flex group"), f->flex_groups);
	out_u64(out, "first_data_block", _("First data block"), f->first_data_block);
	out_u64(out, "desc_size", _("Descriptor size"), f->desc_size);
	out_u64(out, "reserved_gdt_blocks", _("Reserved descriptor blocks"),
		f->reserved_gdt_blocks);
	out_str(out, "hash", _("Folder hash"), f->hash);
	uuid_row(out, "hash_seed", _("Hash seed"), f->hash_seed);
}

static void history(struct out *out, const struct ek_facts *f)
{
	time_row(out, "made", _("Made"), f->made);
	time_row(out, "mounted", _("Last mounted"), f->mounted);
	out_str(out, "last_mounted", _("Last mounted on"), f->last_mounted);
	time_row(out, "written", _("Last written"), f->written);
	time_row(out, "checked", _("Last checked"), f->checked);
	out_u64(out, "mount_count", _("Mounts"), f->mount_count);
	out_u64(out, "written_kib", _("KiB written"), f->written_kib);
	if (f->error_count == 0)
		return;
	out_u64(out, "error_count", _("Errors"), f->error_count);
	time_row(out, "first_error", _("First error"), f->first_error);
	time_row(out, "last_error", _("Last error"), f->last_error);
}

static int run_info(struct run *run)
{
	struct ek_facts f = {.size = sizeof(f)};
	struct ek_space s = {.size = sizeof(s)};
	struct target t;
	int code = target_open(run, run->argv[0], 0, &t), err;

	if (code != EXIT_DONE)
		return code;
	err = ek_image_facts(t.img, &f);
	if (err == 0)
		err = ek_image_space(t.img, &s);
	if (err < 0)
		return target_end(run, &t, fail_call(run, err));
	identity(run->out, &f);
	sizes(run->out, &f, &s);
	layout(run->out, &f);
	history(run->out, &f);
	return target_end(run, &t, EXIT_DONE);
}

static const struct example info_examples[] = {
    {"extkit info disk.img", N_("shows label, features, sizes, journal and history")},
    {"extkit info --json disk.img@@1M", N_("the same for a program, of a filesystem inside")},
    {NULL, NULL},
};

COMMAND(info) = {
    .name = "info",
    .brief = N_("show what the superblock says"),
    .args = N_("IMG"),
    .about = N_("A journal that a crash left is replayed in memory first; the image is not "
		"changed."),
    .examples = info_examples,
    .min_args = 1,
    .max_args = 1,
    .run = run_info,
};
