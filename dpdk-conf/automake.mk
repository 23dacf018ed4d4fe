# SPDX-License-Identifier: Apache-2.0

# Profiles are installed as they are, units and what rotates logs with the
# folders filled in.
confdir = $(pkgdatadir)/dpdk-conf
PROFILE_FILES = \
	dpdk-conf/README.md \
	dpdk-conf/eal/hugepages \
	dpdk-conf/eal/no-hugepages \
	dpdk-conf/eal/no-pci \
	dpdk-conf/eal/numa \
	dpdk-conf/hugepages/1g.grub.cfg \
	dpdk-conf/hugepages/2m.sysctl.conf \
	dpdk-conf/pmd/balance \
	dpdk-conf/pmd/dedicated-cores \
	dpdk-conf/pmd/shared-cores \
	dpdk-conf/systemd/antrea-dp.default \
	dpdk-conf/testpmd/pingpong-vhost \
	dpdk-conf/testpmd/receive \
	dpdk-conf/testpmd/reflect \
	dpdk-conf/testpmd/reflect-vhost \
	dpdk-conf/testpmd/transmit
PROFILE_TOOLS = \
	dpdk-conf/apply \
	dpdk-conf/systemd/prepare-db \
	dpdk-conf/testpmd/run
PROFILE_UNITS = \
	dpdk-conf/systemd/antrea-dp-ovsdb.service \
	dpdk-conf/systemd/antrea-dp-vswitchd.service
EXTRA_DIST += \
	$(PROFILE_FILES) \
	$(PROFILE_TOOLS) \
	$(PROFILE_UNITS:.service=.service.in) \
	dpdk-conf/logrotate/antrea-dp.in

systemdsystemunitdir = $(prefix)/lib/systemd/system
systemdsystemunit_DATA = $(PROFILE_UNITS)
logrotatedir = $(confdir)/logrotate
logrotate_DATA = dpdk-conf/logrotate/antrea-dp
CLEANFILES += $(PROFILE_UNITS) $(logrotate_DATA)

FILL_IN = sed -e 's|@confdir[@]|$(confdir)|g' \
	-e 's|@bindir[@]|$(bindir)|g' \
	-e 's|@sbindir[@]|$(sbindir)|g' \
	-e 's|@sysconfdir[@]|$(sysconfdir)|g' \
	-e 's|@ovspkgdatadir[@]|$(ovspkgdatadir)|g'

SUFFIXES += .service.in .service
.service.in.service:
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(FILL_IN) $< >$@
dpdk-conf/logrotate/antrea-dp: dpdk-conf/logrotate/antrea-dp.in
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(FILL_IN) $(srcdir)/dpdk-conf/logrotate/antrea-dp.in >$@

INSTALL_DATA_LOCAL += dpdk-conf-install
dpdk-conf-install:
	$(AM_V_at)for d in eal hugepages pmd systemd testpmd; do \
		$(MKDIR_P) "$(DESTDIR)$(confdir)/$$d" || exit 1; \
	done
	$(AM_V_at)for f in $(PROFILE_FILES); do \
		$(INSTALL_DATA) $(srcdir)/$$f \
			"$(DESTDIR)$(pkgdatadir)/$$f" || exit 1; \
	done
	$(AM_V_at)for f in $(PROFILE_TOOLS); do \
		$(INSTALL_SCRIPT) $(srcdir)/$$f \
			"$(DESTDIR)$(pkgdatadir)/$$f" || exit 1; \
	done

	$(AM_V_at)$(MKDIR_P) "$(DESTDIR)$(sysconfdir)/default" \
		"$(DESTDIR)$(sysconfdir)/logrotate.d"
	$(AM_V_at)test -e "$(DESTDIR)$(sysconfdir)/logrotate.d/antrea-dp" || \
		$(INSTALL_DATA) dpdk-conf/logrotate/antrea-dp \
			"$(DESTDIR)$(sysconfdir)/logrotate.d/antrea-dp"
	$(AM_V_at)test -e "$(DESTDIR)$(sysconfdir)/default/antrea-dp" || \
		$(INSTALL_DATA) $(srcdir)/dpdk-conf/systemd/antrea-dp.default \
			"$(DESTDIR)$(sysconfdir)/default/antrea-dp"

# What the administrator changed stays.
UNINSTALL_LOCAL += dpdk-conf-uninstall
dpdk-conf-uninstall:
	for f in $(PROFILE_FILES) $(PROFILE_TOOLS); do \
		rm -f "$(DESTDIR)$(pkgdatadir)/$$f"; \
	done
	! cmp -s $(srcdir)/dpdk-conf/systemd/antrea-dp.default \
		"$(DESTDIR)$(sysconfdir)/default/antrea-dp" || \
		rm -f "$(DESTDIR)$(sysconfdir)/default/antrea-dp"
	! cmp -s dpdk-conf/logrotate/antrea-dp \
		"$(DESTDIR)$(sysconfdir)/logrotate.d/antrea-dp" || \
		rm -f "$(DESTDIR)$(sysconfdir)/logrotate.d/antrea-dp"
