# SPDX-License-Identifier: Apache-2.0

# antrea-dpctl: speaks JSON-RPC to the control socket, decides nothing.

bin_PROGRAMS += utilities/antrea-dpctl
dist_bin_SCRIPTS = utilities/antrea-dp-follow
dist_sbin_SCRIPTS = utilities/antrea-dp-start-ovs
EXTRA_DIST += utilities/Dockerfile
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
	utilities/dpctl-batch.c \
	utilities/dpctl-batch.h \
	utilities/dpctl-bundle.c \
	utilities/dpctl-cli.h \
	utilities/dpctl-columns.c \
	utilities/dpctl-columns.h \
	utilities/dpctl-diff.c \
	utilities/dpctl-feed.c \
	utilities/dpctl-feed.h \
	utilities/dpctl-find.c \
	utilities/dpctl-find.h \
	utilities/dpctl-flow-filter.c \
	utilities/dpctl-flow-filter.h \
	utilities/dpctl-flows.c \
	utilities/dpctl-flows.h \
	utilities/dpctl-follow.c \
	utilities/dpctl-get.c \
	utilities/dpctl-l7.c \
	utilities/dpctl-ofp.c \
	utilities/dpctl-ofp.h \
	utilities/dpctl-parties.c \
	utilities/dpctl-parties.h \
	utilities/dpctl-pcap.c \
	utilities/dpctl-pcap.h \
	utilities/dpctl-pod.c \
	utilities/dpctl-pod.h \
	utilities/dpctl-refused.c \
	utilities/dpctl-refused.h \
	utilities/dpctl-status.c \
	utilities/dpctl-tar.c \
	utilities/dpctl-tar.h \
	utilities/dpctl-targets.c \
	utilities/dpctl-targets.h \
	utilities/dpctl-watch.c \
	utilities/dpctl-watch.h \
	utilities/show/dpctl-health.c \
	utilities/show/dpctl-health.h \
	utilities/show/dpctl-pod-view.c \
	utilities/show/dpctl-pod-view.h \
	utilities/show/dpctl-explain.c \
	utilities/show/dpctl-explain.h \
	utilities/show/dpctl-html-draw.c \
	utilities/show/dpctl-html-style.c \
	utilities/show/dpctl-html.c \
	utilities/show/dpctl-html.h \
	utilities/objects/dpctl-address.c \
	utilities/objects/dpctl-address.h \
	utilities/objects/dpctl-admin.c \
	utilities/objects/dpctl-admin.h \
	utilities/objects/dpctl-delta-policy.c \
	utilities/objects/dpctl-delta-ports.c \
	utilities/objects/dpctl-delta-private.h \
	utilities/objects/dpctl-delta-service.c \
	utilities/objects/dpctl-delta-told.c \
	utilities/objects/dpctl-delta.c \
	utilities/objects/dpctl-delta.h \
	utilities/objects/dpctl-event.c \
	utilities/objects/dpctl-event.h \
	utilities/objects/dpctl-input.c \
	utilities/objects/dpctl-input.h \
	utilities/objects/dpctl-json.c \
	utilities/objects/dpctl-json.h \
	utilities/objects/dpctl-keys.c \
	utilities/objects/dpctl-keys.h \
	utilities/objects/dpctl-kind.c \
	utilities/objects/dpctl-kind.h \
	utilities/objects/dpctl-left-out.c \
	utilities/objects/dpctl-left-out.h \
	utilities/objects/dpctl-listing.c \
	utilities/objects/dpctl-listing.h \
	utilities/objects/dpctl-load.c \
	utilities/objects/dpctl-load.h \
	utilities/objects/dpctl-node.c \
	utilities/objects/dpctl-node.h \
	utilities/objects/dpctl-outside.c \
	utilities/objects/dpctl-outside.h \
	utilities/dpctl-ovsdb.c \
	utilities/dpctl-ovsdb.h \
	utilities/dpctl-pieces.c \
	utilities/dpctl-pieces.h \
	utilities/objects/dpctl-plan.c \
	utilities/objects/dpctl-plan.h \
	utilities/objects/dpctl-policy-check.c \
	utilities/objects/dpctl-policy-check.h \
	utilities/objects/dpctl-quantity.c \
	utilities/objects/dpctl-quantity.h \
	utilities/show/dpctl-line-diff.c \
	utilities/show/dpctl-line-diff.h \
	utilities/show/dpctl-print.c \
	utilities/show/dpctl-print.h \
	utilities/objects/dpctl-resolve-controlplane.c \
	utilities/objects/dpctl-resolve-node.c \
	utilities/objects/dpctl-resolve-applied.c \
	utilities/objects/dpctl-resolve-peers.c \
	utilities/objects/dpctl-resolve-peers.h \
	utilities/objects/dpctl-resolve-policy.c \
	utilities/objects/dpctl-resolve-private.h \
	utilities/objects/dpctl-resolve-service.c \
	utilities/objects/dpctl-resolve.c \
	utilities/objects/dpctl-resolve.h \
	utilities/dpctl-rpc.c \
	utilities/dpctl-rpc.h \
	utilities/objects/dpctl-schema.c \
	utilities/objects/dpctl-schema.h \
	utilities/objects/dpctl-selector.c \
	utilities/objects/dpctl-selector.h \
	utilities/objects/dpctl-service-check.c \
	utilities/objects/dpctl-service-check.h \
	utilities/show/dpctl-stats.c \
	utilities/show/dpctl-stats.h \
	utilities/dpctl-stream.c \
	utilities/objects/dpctl-similar.c \
	utilities/objects/dpctl-similar.h \
	utilities/objects/dpctl-surprise.c \
	utilities/objects/dpctl-surprise.h \
	utilities/objects/dpctl-tier.c \
	utilities/objects/dpctl-tier.h \
	utilities/objects/dpctl-world.c \
	utilities/objects/dpctl-world.h \
	utilities/dpctl-logs.c \
	utilities/dpctl-top.c \
	utilities/dpctl-trace.c \
	utilities/show/dpctl-walk-words.c \
	utilities/show/dpctl-walk.c \
	utilities/show/dpctl-walk.h

dist_man_MANS += utilities/antrea-dpctl.8

# Those for zsh and fish ask bash's, which they find from where they lie.
bashcompletiondir = $(datadir)/bash-completion/completions
# Debian's zsh looks elsewhere below /usr than below /usr/local.
zshcompletiondir = $(datadir)/zsh/$$(test "$(datadir)" = /usr/share \
	&& echo vendor-completions || echo site-functions)
fishcompletiondir = $(datadir)/fish/vendor_completions.d
EXTRA_DIST += \
	utilities/antrea-dpctl.bash \
	utilities/antrea-dpctl.fish \
	utilities/antrea-dpctl.zsh
INSTALL_DATA_LOCAL += install-completion
install-completion:
	$(AM_V_at)$(MKDIR_P) "$(DESTDIR)$(bashcompletiondir)"
	$(AM_V_at)$(INSTALL_DATA) $(srcdir)/utilities/antrea-dpctl.bash \
		"$(DESTDIR)$(bashcompletiondir)/antrea-dpctl"
	$(AM_V_at)ln -sf antrea-dpctl \
		"$(DESTDIR)$(bashcompletiondir)/antrea-dp-follow"
	$(AM_V_at)$(MKDIR_P) "$(DESTDIR)$(zshcompletiondir)" \
		"$(DESTDIR)$(fishcompletiondir)"
	$(AM_V_at)$(INSTALL_DATA) $(srcdir)/utilities/antrea-dpctl.zsh \
		"$(DESTDIR)$(zshcompletiondir)/_antrea-dpctl"
	$(AM_V_at)$(INSTALL_DATA) $(srcdir)/utilities/antrea-dpctl.fish \
		"$(DESTDIR)$(fishcompletiondir)/antrea-dpctl.fish"
	$(AM_V_at)ln -sf antrea-dpctl.fish \
		"$(DESTDIR)$(fishcompletiondir)/antrea-dp-follow.fish"
UNINSTALL_LOCAL += uninstall-completion
uninstall-completion:
	rm -f "$(DESTDIR)$(bashcompletiondir)/antrea-dpctl" \
		"$(DESTDIR)$(bashcompletiondir)/antrea-dp-follow" \
		"$(DESTDIR)$(zshcompletiondir)/_antrea-dpctl" \
		"$(DESTDIR)$(fishcompletiondir)/antrea-dpctl.fish" \
		"$(DESTDIR)$(fishcompletiondir)/antrea-dp-follow.fish"
