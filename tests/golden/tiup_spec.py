"""What TiUP takes in a topology file: the yaml tags and Go types of pkg/cluster/spec (each …Spec, GlobalOptions, MonitoredOptions,
ServerConfigs) and of pkg/meta (ResourceControl), read at commit 842f05cc of github.com/pingcap/tiup (June 2026). Its decoder refuses
what has no tag (KnownFields(true) in parse_topology.go), and a value of another type.
"""

TYPES = {"str": (str, int, float), "int": int, "bool": bool, "dict": dict, "list": list, "object": object, "RESOURCE": dict}

RESOURCE = {
    "str": "cpu_quota io_read_bandwidth_max io_write_bandwidth_max limit_core memory_limit timeout_start_sec timeout_stop_sec",
}
GLOBAL = {
    "RESOURCE": "resource_control",
    "bool": "enable_tls",
    "int": "ssh_port",
    "object": "custom",
    "str": "arch data_dir deploy_dir group listen_host log_dir os pd_mode ssh_type systemd_mode user",
}
MONITORED = {
    "RESOURCE": "resource_control",
    "int": "blackbox_exporter_port node_exporter_port",
    "str": "blackbox_exporter_version data_dir deploy_dir log_dir node_exporter_version numa_node",
}
SERVER_CONFIGS = {
    "dict": "cdc drainer grafana kvcdc ng_monitoring pd pump resource_manager router scheduling tidb tidb_dashboard tiflash"
            " tiflash-learner tikv tiproxy tso",
}
SECTIONS = {
    "tidb_servers": {
        "RESOURCE": "resource_control",
        "bool": "ignore_exporter patched",
        "dict": "config",
        "int": "port ssh_port status_port",
        "str": "advertise_address arch deploy_dir host listen_host log_dir manage_host numa_cores numa_node os source",
    },
    "tikv_servers": {
        "RESOURCE": "resource_control",
        "bool": "ignore_exporter offline patched",
        "dict": "config",
        "int": "port ssh_port status_port",
        "str": "advertise_addr advertise_status_addr arch data_dir deploy_dir host listen_host log_dir manage_host numa_cores"
               " numa_node os source",
    },
    "tiflash_servers": {
        "RESOURCE": "resource_control",
        "bool": "ignore_exporter offline patched",
        "dict": "config learner_config",
        "int": "flash_proxy_port flash_proxy_status_port flash_service_port http_port metrics_port ssh_port tcp_port",
        "str": "arch data_dir deploy_dir host log_dir manage_host numa_cores numa_node os source tmp_path",
    },
    "tiproxy_servers": {
        "dict": "config",
        "int": "port ssh_port status_port",
        "str": "arch deploy_dir host manage_host numa_node os",
    },
    "pd_servers": {
        "RESOURCE": "resource_control",
        "bool": "ignore_exporter patched",
        "dict": "config",
        "int": "client_port peer_port ssh_port",
        "str": "advertise_client_addr advertise_peer_addr arch data_dir deploy_dir host listen_host log_dir manage_host name"
               " numa_node os source",
    },
    "tso_servers": {
        "bool": "ignore_exporter",
        "dict": "config",
        "int": "port ssh_port",
        "str": "advertise_listen_addr arch data_dir deploy_dir host listen_host log_dir manage_host name numa_node os source",
    },
    "scheduling_servers": {
        "bool": "ignore_exporter",
        "dict": "config",
        "int": "port ssh_port",
        "str": "advertise_listen_addr arch data_dir deploy_dir host listen_host log_dir manage_host name numa_node os source",
    },
    "resource_manager_servers": {
        "bool": "ignore_exporter",
        "dict": "config",
        "int": "port ssh_port",
        "str": "advertise_listen_addr arch data_dir deploy_dir host listen_host log_dir manage_host name numa_node os source",
    },
    "router_servers": {
        "bool": "ignore_exporter",
        "dict": "config",
        "int": "port ssh_port",
        "str": "advertise_listen_addr arch data_dir deploy_dir host listen_host log_dir manage_host name numa_node os source",
    },
    "tidb_dashboard_servers": {
        "RESOURCE": "resource_control",
        "bool": "ignore_exporter patched",
        "dict": "config",
        "int": "port ssh_port",
        "str": "arch data_dir deploy_dir host log_dir manage_host numa_node os source",
    },
    "pump_servers": {
        "RESOURCE": "resource_control",
        "bool": "ignore_exporter offline patched",
        "dict": "config",
        "int": "port ssh_port",
        "str": "arch data_dir deploy_dir host log_dir manage_host numa_node os source",
    },
    "drainer_servers": {
        "RESOURCE": "resource_control",
        "bool": "ignore_exporter offline patched",
        "dict": "config",
        "int": "port ssh_port",
        "object": "commit_ts",
        "str": "arch data_dir deploy_dir host log_dir manage_host numa_node os source",
    },
    "cdc_servers": {
        "RESOURCE": "resource_control",
        "bool": "ignore_exporter offline patched",
        "dict": "config",
        "int": "port ssh_port",
        "object": "gc-ttl",
        "str": "arch data_dir deploy_dir host log_dir manage_host numa_node os source ticdc_cluster_id tz",
    },
    "kvcdc_servers": {
        "RESOURCE": "resource_control",
        "bool": "ignore_exporter offline patched",
        "dict": "config",
        "int": "port ssh_port",
        "object": "gc-ttl",
        "str": "arch data_dir deploy_dir host log_dir manage_host numa_node os source tz",
    },
    "tispark_masters": {
        "bool": "ignore_exporter patched",
        "dict": "spark_config spark_env",
        "int": "port ssh_port web_port",
        "str": "arch deploy_dir host java_home listen_host manage_host os",
    },
    "tispark_workers": {
        "bool": "- ignore_exporter patched",
        "int": "port ssh_port web_port",
        "str": "arch deploy_dir host java_home listen_host manage_host os",
    },
    "monitoring_servers": {
        "RESOURCE": "resource_control",
        "bool": "enable_prom_agent_mode ignore_exporter patched prom_remote_write_to_vm",
        "dict": "additional_scrape_conf ng_monitoring_config",
        "int": "ng_port port ssh_port",
        "list": "additional_args pushgateway_addrs",
        "object": "external_alertmanagers remote_config",
        "str": "arch data_dir deploy_dir host log_dir manage_host numa_node os rule_dir scrape_interval scrape_timeout"
               " storage_retention storage_retention_size storage_retention_time",
    },
    "grafana_servers": {
        "RESOURCE": "resource_control",
        "bool": "anonymous_enable ignore_exporter patched use_vm_as_datasource",
        "dict": "config",
        "int": "port ssh_port",
        "str": "arch dashboard_dir default_theme deploy_dir domain host manage_host org_name org_role os password root_url username",
    },
    "alertmanager_servers": {
        "RESOURCE": "resource_control",
        "bool": "ignore_exporter patched",
        "int": "cluster_port ssh_port web_port",
        "list": "additional_args",
        "str": "arch config_file data_dir deploy_dir host listen_host log_dir manage_host numa_node os",
    },
}
# Sections whose content is not looked at.
OTHERS = ("component_versions", "component_sources")


def wrong(value, keys, where):
    """What TiUP would refuse in a mapping."""
    if not isinstance(value, dict):
        yield "%s: %s is no mapping" % (where, type(value).__name__)
        return
    types = {key: name for name, words in keys.items() for key in words.split()}
    for key, inner in value.items():
        if key not in types:
            yield "%s: TiUP has no key %s" % (where, key)
        elif inner is not None and not isinstance(inner, TYPES[types[key]]):
            yield "%s: %s is %r, and TiUP takes %s" % (where, key, inner, types[key])
        elif types[key] == "RESOURCE" and inner is not None:
            yield from wrong(inner, RESOURCE, "%s: %s" % (where, key))


def refused(topology):
    """What TiUP would refuse in a topology."""
    for section, value in topology.items():
        if section in SECTIONS:
            for entry in value or []:
                yield from wrong(entry, SECTIONS[section], "%s of %s" % (section, entry.get("host")))
        elif section in ("global", "monitored", "server_configs"):
            yield from wrong(value or {}, {"global": GLOBAL, "monitored": MONITORED, "server_configs": SERVER_CONFIGS}[section], section)
        elif section not in OTHERS:
            yield "TiUP has no section " + section
