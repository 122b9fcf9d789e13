/* SPDX-License-Identifier: BSD-2-Clause */
/* What libblkid finds on our files. */
#include "host.h"

#include "io/probe.h"

TEST(missing_signatures_are_not_found_in_a_file_nor_in_memory)
{
	struct dev *dev = fresh_file("empty", 0), *mem;
	struct probe p;

	CHECK_INT(probe_read(dev, &p), 0);
	CHECK(!p.found);
	CHECK_INT(dev_open_memory(4096, &diag, &mem), 0);
	CHECK_INT(probe_read(mem, &p), 0);
	CHECK(!p.found);
	dev_close(mem);
	dev_close(dev);
}

TEST(a_signature_is_found_also_inside_a_slice)
{
	struct dev *dev = fresh_file("swap", 0), *part;
	struct probe p;
	uint8_t head[16] = {1, [5] = 1};

	/* a swap area: version 1, a size, and its name at the end of the first page */
	CHECK_INT(dev_write(dev, 65536 + 1024, head, sizeof(head)), 0);
	CHECK_INT(dev_write(dev, 65536 + 4086, "SWAPSPACE2", 10), 0);
	CHECK_INT(probe_read(dev, &p), 0);
	CHECK(!p.found);
	CHECK_INT(dev_open_slice(dev, 65536, 131072, &part), 0);
	CHECK_INT(probe_read(part, &p), 0);
	CHECK(p.found && !p.ambiguous);
	CHECK_STR(p.type, "swap");
	CHECK_STR(p.usage, "other");
	dev_close(part);
	dev_close(dev);
}

TEST(a_partition_table_is_found)
{
	struct dev *dev = fresh_file("table", 0);
	uint8_t entry[16] = {0, 0, 0, 0, 0x83, 0, 0, 0, 8, 0, 0, 0, 0, 2, 0, 0};
	struct probe p;

	CHECK_INT(dev_write(dev, 446, entry, 16), 0);
	CHECK_INT(dev_write(dev, 510, "\x55\xaa", 2), 0);
	CHECK_INT(probe_read(dev, &p), 0);
	CHECK(p.found);
	CHECK_STR(p.table, "dos");
	CHECK_INT(p.parts, 1);
	dev_close(dev);
}

TEST(topology_of_a_block_device_is_told)
{
	char path[32];
	int fd = loop_on("loop5", path);
	struct dev *dev = open_dev(path, 0);
	struct probe p;

	CHECK_INT(probe_read(dev, &p), 0);
	CHECK(!p.found);
	CHECK(p.io_min >= 512 && p.physical >= 512);
	dev_close(dev);
	close(fd);
}

int main(void)
{
	return host_main();
}
