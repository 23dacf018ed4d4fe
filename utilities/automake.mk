# SPDX-License-Identifier: Apache-2.0

# antrea-dpctl: speaks JSON-RPC to the control socket, decides nothing.

bin_PROGRAMS += utilities/antrea-dpctl
utilities_antrea_dpctl_SOURCES = \
	utilities/antrea-dpctl.c
utilities_antrea_dpctl_LDADD = \
	utilities/libdpctl.la \
	lib/libadp.la \
	$(OVS_LIB) \
	$(YAML_LIBS)

# All of it but main(), for unit tests too.
noinst_LTLIBRARIES += utilities/libdpctl.la
utilities_libdpctl_la_SOURCES = \
	utilities/dpctl-apply.c \
	utilities/dpctl-cli.h \
	utilities/dpctl-get.c \
	utilities/dpctl-html-draw.c \
	utilities/dpctl-html-style.c \
	utilities/dpctl-html.c \
	utilities/dpctl-html.h \
	utilities/dpctl-input.c \
	utilities/dpctl-input.h \
	utilities/dpctl-json.c \
	utilities/dpctl-json.h \
	utilities/dpctl-kind.c \
	utilities/dpctl-kind.h \
	utilities/dpctl-load.c \
	utilities/dpctl-load.h \
	utilities/dpctl-node.c \
	utilities/dpctl-node.h \
	utilities/dpctl-ovsdb.c \
	utilities/dpctl-ovsdb.h \
	utilities/dpctl-pieces.c \
	utilities/dpctl-pieces.h \
	utilities/dpctl-plan.c \
	utilities/dpctl-plan.h \
	utilities/dpctl-policy-check.c \
	utilities/dpctl-policy-check.h \
	utilities/dpctl-print.c \
	utilities/dpctl-print.h \
	utilities/dpctl-resolve-controlplane.c \
	utilities/dpctl-resolve-node.c \
	utilities/dpctl-resolve-policy.c \
	utilities/dpctl-resolve-private.h \
	utilities/dpctl-resolve-service.c \
	utilities/dpctl-resolve.c \
	utilities/dpctl-resolve.h \
	utilities/dpctl-rpc.c \
	utilities/dpctl-rpc.h \
	utilities/dpctl-schema.c \
	utilities/dpctl-schema.h \
	utilities/dpctl-selector.c \
	utilities/dpctl-selector.h \
	utilities/dpctl-stats.c \
	utilities/dpctl-stats.h \
	utilities/dpctl-surprise.c \
	utilities/dpctl-surprise.h \
	utilities/dpctl-tier.c \
	utilities/dpctl-tier.h \
	utilities/dpctl-top.c \
	utilities/dpctl-trace.c \
	utilities/dpctl-walk-words.c \
	utilities/dpctl-walk.c \
	utilities/dpctl-walk.h

dist_man_MANS += utilities/antrea-dpctl.8

bashcompletiondir = $(datadir)/bash-completion/completions
EXTRA_DIST += utilities/antrea-dpctl.bash
INSTALL_DATA_LOCAL += install-completion
install-completion:
	$(AM_V_at)$(MKDIR_P) "$(DESTDIR)$(bashcompletiondir)"
	$(AM_V_at)$(INSTALL_DATA) $(srcdir)/utilities/antrea-dpctl.bash \
		"$(DESTDIR)$(bashcompletiondir)/antrea-dpctl"
UNINSTALL_LOCAL += uninstall-completion
uninstall-completion:
	rm -f "$(DESTDIR)$(bashcompletiondir)/antrea-dpctl"
