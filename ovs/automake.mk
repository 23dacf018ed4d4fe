# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	ovs/install-tools \
	ovs/prepare \
	ovs/version \
	ovs/hooks

# What of the prepared tree is linked into programs of ours.
OVS_VSWITCHD_OBJECTS = \
	$(OVS_BUILD)/vswitchd/bridge.o \
	$(OVS_BUILD)/vswitchd/ovs-vswitchd.o \
	$(OVS_BUILD)/vswitchd/system-stats.o
OVS_LIB = $(OVS_BUILD)/lib/libopenvswitch.la
OVS_VSWITCHD_LIBS = \
	$(OVS_BUILD)/ofproto/libofproto.la \
	$(OVS_BUILD)/lib/libsflow.la \
	$(OVS_LIB)

# What of it is installed as it is.
OVS_SBIN = $(OVS_BUILD)/ovsdb/ovsdb-server
OVS_BIN = \
	$(OVS_BUILD)/ovsdb/ovsdb-client \
	$(OVS_BUILD)/ovsdb/ovsdb-tool \
	$(OVS_BUILD)/utilities/ovs-appctl \
	$(OVS_BUILD)/utilities/ovs-dpctl \
	$(OVS_BUILD)/utilities/ovs-ofctl \
	$(OVS_BUILD)/utilities/ovs-testcontroller \
	$(OVS_BUILD)/utilities/ovs-vsctl
OVS_SCHEMA = $(OVS_SRC)/vswitchd/vswitch.ovsschema
ovspkgdatadir = $(datadir)/openvswitch

# ovs/prepare decides each time whether the tree in the cache is the one that
# the hooks, the package and the compiler ask for.  The files below change
# only with the tree, so that a tree which is current costs no compilation:
# ovs/stamp names the tree, ovs/headers hashes its headers.
ovs/stamp: FORCE
	$(AM_V_at)$(MKDIR_P) ovs
	$(AM_V_at)new=ovs/stamp.$$$$; trap 'rm -f $$new' EXIT; \
	ANTREA_DP_CACHE='$(OVS_CACHE)' CC='$(CC)' \
		$(srcdir)/ovs/prepare --variant $(OVS_VARIANT) \
			--link ovs/tree >$$new </dev/null || exit 1; \
	cmp -s ovs/tree/headers ovs/headers \
		|| cp -f ovs/tree/headers ovs/headers; \
	cmp -s $$new ovs/stamp || cp -f $$new ovs/stamp; \
	test $(OVS_VARIANT) != default || test ! -w $(srcdir)/ovs \
		|| ln -sfn "$$(cat ovs/stamp)/src" $(srcdir)/ovs/src
ovs/headers: ovs/stamp
	@:
$(OVS_VSWITCHD_OBJECTS) $(OVS_VSWITCHD_LIBS) $(OVS_SBIN) $(OVS_BIN) \
$(OVS_SCHEMA): ovs/stamp
	@:
FORCE:
.PHONY: FORCE

distclean-local:
	rm -f ovs/stamp ovs/stamp.* ovs/headers ovs/tree
	test ! -L $(srcdir)/ovs/src || rm -f $(srcdir)/ovs/src

# Scripts and pages of upstream's that go with them.
ovsdocdir = $(docdir)
OVS_TOOL_FOLDERS = "$(DESTDIR)" "$(bindir)" "$(sbindir)" "$(ovspkgdatadir)" \
	"$(mandir)" "$(ovsdocdir)" "$(sysconfdir)"

INSTALL_EXEC_LOCAL += ovs-install
ovs-install: $(OVS_SBIN) $(OVS_BIN) $(OVS_SCHEMA)
	$(AM_V_at)$(MKDIR_P) "$(DESTDIR)$(sbindir)" "$(DESTDIR)$(bindir)" \
		"$(DESTDIR)$(ovspkgdatadir)"
	$(AM_V_at)$(INSTALL_PROGRAM) $(OVS_SBIN) "$(DESTDIR)$(sbindir)"
	$(AM_V_at)$(INSTALL_PROGRAM) $(OVS_BIN) "$(DESTDIR)$(bindir)"
	$(AM_V_at)$(INSTALL_DATA) $(OVS_SCHEMA) "$(DESTDIR)$(ovspkgdatadir)"
	$(AM_V_at)$(srcdir)/ovs/install-tools $(OVS_SRC) $(OVS_TOOL_FOLDERS)

UNINSTALL_LOCAL += ovs-uninstall
ovs-uninstall:
	for f in $(OVS_SBIN); do \
		rm -f "$(DESTDIR)$(sbindir)/$${f##*/}"; \
	done
	for f in $(OVS_BIN); do \
		rm -f "$(DESTDIR)$(bindir)/$${f##*/}"; \
	done
	rm -f "$(DESTDIR)$(ovspkgdatadir)/vswitch.ovsschema"
	$(srcdir)/ovs/install-tools --list $(OVS_SRC) $(OVS_TOOL_FOLDERS) | \
		while read -r f; do rm -f "$(DESTDIR)$$f"; done
	for d in scripts bugtool-plugins python; do \
		test ! -d "$(DESTDIR)$(ovspkgdatadir)/$$d" || \
			find "$(DESTDIR)$(ovspkgdatadir)/$$d" -depth \
				-type d -empty -delete; \
	done
