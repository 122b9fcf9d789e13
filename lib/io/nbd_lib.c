/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads libnbd and finds its calls by name; the loader counts users, so nothing is kept here. */
#include "io/nbd_lib.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/check.h"
#include "base/diag.h"

#define SONAME "libnbd.so.0"

struct symbol {
	const char *name;
	size_t at; /* of the pointer in struct nbd_lib */
};

static const struct symbol symbols[] = {
#define X(type, name, args) {"nbd_" #name, offsetof(struct nbd_lib, name)},
    NBD_CALLS(X)
#undef X
};

int nbd_lib_load(struct diag *d, struct nbd_lib *ret)
{
	struct nbd_lib lib = {.image = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL)};

	if (lib.image == NULL)
		return diag_set(d, -EOPNOTSUPP, "nbd: not available: " SONAME " cannot be loaded");
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void **to = (void **)(void *)((char *)&lib + symbols[i].at);

		*to = dlsym(lib.image, symbols[i].name);
		if (*to == NULL) {
			dlclose(lib.image);
			return diag_set(d, -EOPNOTSUPP,
					"nbd: not available: " SONAME " is too old: it has no %s",
					symbols[i].name);
		}
	}
	*ret = lib;
	return 0;
}

void nbd_lib_unload(struct nbd_lib *lib)
{
	if (lib->image != NULL)
		dlclose(lib->image);
	lib->image = NULL;
}
