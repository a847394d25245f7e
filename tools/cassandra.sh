#!/bin/bash
# A Cassandra cluster of a few nodes on loopback, for tests: up [NODES] | kill NODE | start NODE | replace NODE (a dead one, by one that has
# nothing) | tool NODE ARGUMENTS… (nodetool) | down | with NODES COMMAND… (up, the command, down) | fetch (what `up` fetches if it is not there).
# Needs mvn and Java 17. The command finds the nodes in PVARK_CQL. With PVARK_CASSANDRA_AUTHENTICATOR=PasswordAuthenticator they want passwords,
# with PVARK_CASSANDRA_TLS=1 TLS with certificates of both sides, which the command finds in PVARK_CQL_TLS.
set -euo pipefail
cd "$(dirname "$0")/.."
root=${PVARK_CASSANDRA:-${CARGO_TARGET_DIR:-$PWD/target}/cassandra}
version=5.0.9
nodes=3

# Cassandra looks into these parts of Java, which Java 17 shows only to those that are named.
base="jdk.internal.misc java.io java.lang java.lang.module java.lang.reflect java.math java.net java.nio java.nio.charset java.nio.file.spi
 java.util java.util.concurrent java.util.concurrent.atomic jdk.internal.loader jdk.internal.ref jdk.internal.reflect jdk.internal.math
 jdk.internal.module jdk.internal.util jdk.internal.util.jar sun.nio.ch"
others="java.management.rmi/com.sun.jmx.remote.internal.rmi java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.rmi/sun.rmi.transport.tcp
 java.sql/java.sql jdk.management.agent/jdk.internal.agent jdk.management/com.sun.management.internal
 java.management/com.sun.jmx.remote.security jdk.management/com.sun.management"

install() {
    command -v java >/dev/null || missing java "default-jre-headless"
    [ -e "$root/lib/done" ] && return
    command -v mvn >/dev/null || missing mvn maven
    mkdir -p "$root/lib"
    cat > "$root/pom.xml" <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>pvark</groupId><artifactId>cassandra</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>$version</version>
  </dependency></dependencies>
</project>
XML
    if ! (cd "$root" && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib); then
        echo "cassandra: not available here: Maven cannot fetch it" >&2
        exit 3
    fi
    # It answers to the same names as the one that Cassandra logs with.
    rm -f "$root"/lib/log4j-over-slf4j*
    touch "$root/lib/done"
}

missing() { # program, package of Debian
    echo "cassandra: not available here: there is no $1 (Debian: $2)" >&2
    exit 3
}

configure() { # node
    local folder=$root/node$1
    mkdir -p "$folder/conf"
    cat > "$folder/conf/cassandra.yaml" <<YAML
cluster_name: pvark tests
num_tokens: 16
allocate_tokens_for_local_replication_factor: $nodes
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
data_file_directories: [$folder/data]
commitlog_directory: $folder/commitlog
saved_caches_directory: $folder/saved_caches
hints_directory: $folder/hints
cdc_raw_directory: $folder/cdc_raw
commitlog_sync: group
commitlog_sync_group_window: 10ms
commitlog_segment_size: 32MiB
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{seeds: "127.0.0.1:7000"}]
listen_address: 127.0.0.$1
rpc_address: 127.0.0.$1
storage_port: 7000
native_transport_port: 9042
start_native_transport: true
endpoint_snitch: SimpleSnitch
authenticator: ${PVARK_CASSANDRA_AUTHENTICATOR:-AllowAllAuthenticator}
authorizer: AllowAllAuthorizer
disk_failure_policy: stop
commit_failure_policy: stop
storage_compatibility_mode: NONE
memtable_allocation_type: offheap_objects
memtable:
  configurations:
    skiplist: {class_name: SkipListMemtable}
    trie: {class_name: TrieMemtable}
    default: {inherits: trie}
auto_snapshot: false
YAML
    if [ -n "${PVARK_CASSANDRA_TLS:-}" ]; then
        cat >> "$folder/conf/cassandra.yaml" <<YAML
client_encryption_options:
  enabled: true
  optional: false
  require_client_auth: true
  ssl_context_factory: {class_name: org.apache.cassandra.security.PEMBasedSslContextFactory}
  keystore: $root/tls/database.pem
  truststore: $root/tls/authority.pem
YAML
    fi
    printf 'dc=datacenter1\nrack=rack1\n' > "$folder/conf/cassandra-rackdc.properties"
    cat > "$folder/conf/logback.xml" <<'XML'
<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%d %-5level %msg%n</pattern></encoder></appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
XML
}

# Two authorities. The first one has signed what nodes of the database show, which is for no address but for the name db.lab.example, and what
# a node of pvark shows; the second one has signed a stranger.
certify() {
    command -v openssl >/dev/null || missing openssl openssl
    local new=(openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -config "$root/tls/req") name
    rm -rf "$root/tls"
    mkdir -p "$root/tls"
    printf '[req]\ndistinguished_name=dn\n[dn]\n' > "$root/tls/req"
    (
        cd "$root/tls"
        for name in authority other-authority; do
            "${new[@]}" -keyout "$name.key" -out "$name.pem" -subj "/CN=$name" -addext "basicConstraints=critical,CA:TRUE"
        done
        signed database authority -addext "subjectAltName=DNS:db.lab.example"
        signed node authority
        signed stranger other-authority
        cat database.key >> database.pem
        chmod 600 ./*.key
    ) 2>/dev/null
}

signed() { # name, authority, what else
    local name=$1 authority=$2
    shift 2
    "${new[@]}" -keyout "$name.key" -out "$name.pem" -subj "/CN=$name" -addext "basicConstraints=critical,CA:FALSE" \
        -CA "$authority.pem" -CAkey "$authority.key" "$@"
}

# The process of a node, if its number is still that of a Cassandra from this folder.
process() { # node
    local pid=$root/node$1/pid
    [ -e "$pid" ] && grep -qs "$root" "/proc/$(cat "$pid")/cmdline" && cat "$pid"
}

opened() { # adds to options what Cassandra and its tools need of Java
    local part
    for part in $(printf 'java.base/%s ' $base) $others; do
        options+=(--add-exports "$part=ALL-UNNAMED" --add-opens "$part=ALL-UNNAMED")
    done
}

start() { # node, and what else Java is told
    local folder=$root/node$1 options=() node=$1
    shift
    if process "$node" >/dev/null; then
        echo "cassandra: node $node runs already" >&2
        return
    fi
    # One that was killed keeps what it was told at first.
    [ -e "$folder/conf/cassandra.yaml" ] || configure "$node"
    opened
    : > "$folder/log"
    setsid java "${options[@]}" "$@" -javaagent:"$(ls "$root"/lib/jamm-*.jar)" -Xms512M -Xmx512M -XX:MaxDirectMemorySize=512M \
        -XX:+UseG1GC -Xss512k -Djdk.attach.allowAttachSelf=true "-Dcassandra.config=file://$folder/conf/cassandra.yaml" \
        -Dlogback.configurationFile=logback.xml "-Dcassandra.storagedir=$folder" "-Dcassandra.logdir=$folder" \
        "-Dcassandra.jmx.local.port=7${node}99" -Dcassandra-foreground=yes "-Djava.library.path=$root/lib" \
        -Dio.netty.tryReflectionSetAccessible=true -Dcassandra.ring_delay_ms=2000 -Dcassandra.consistent.rangemovement=false \
        -Dcassandra.skip_wait_for_gossip_to_settle=0 -cp "$folder/conf:$root/lib/*" \
        org.apache.cassandra.service.CassandraDaemon >> "$folder/log" 2>&1 < /dev/null &
    echo $! > "$folder/pid"
    local waited=0
    until grep -q "Starting listening for CQL" "$folder/log"; do
        if ! kill -0 "$(cat "$folder/pid")" 2>/dev/null || [ $((waited += 1)) -gt 300 ]; then
            echo "cassandra: node $node does not start; the end of its log:" >&2
            tail -n 20 "$folder/log" >&2 # the folder goes when the others are ended
            exit 1
        fi
        sleep 1
    done
    echo "cassandra: node $node listens on 127.0.0.$node:9042 after $waited s" >&2
}

# A dead node whose disk is lost: another one takes its place, and fetches from the others what it had.
replace() { # node
    if process "$1" >/dev/null; then
        echo "cassandra: node $1 lives: kill it first" >&2
        exit 1
    fi
    rm -r "$root/node$1"
    start "$1" "-Dcassandra.replace_address_first_boot=127.0.0.$1"
}

tool() { # node, the arguments of nodetool
    local options=() node=$1
    shift
    opened
    java "${options[@]}" -Xmx128M "-Dcassandra.storagedir=$root/node$node" -Dlogback.configurationFile=none -cp "$root/lib/*" \
        org.apache.cassandra.tools.NodeTool -h 127.0.0.1 -p "7${node}99" "$@"
}

up() {
    nodes=$1
    local node
    install
    [ -z "${PVARK_CASSANDRA_TLS:-}" ] || certify
    for node in $(seq "$nodes"); do start "$node"; done
}

# Only what was started here.
down() {
    local node process
    for node in "$root"/node*; do
        [ -d "$node" ] || continue
        if process=$(process "${node##*node}"); then
            kill "$process"
            while kill -0 "$process" 2>/dev/null; do sleep 0.2; done
        fi
        rm -r "$node"
    done
}

case ${1:-} in
fetch)
    install
    ;;
up)
    up "${2:-3}"
    ;;
down)
    down
    ;;
kill)
    process=$(process "${2:?which node}") || { echo "cassandra: node $2 does not run" >&2; exit 1; }
    kill -9 "$process"
    while kill -0 "$process" 2>/dev/null; do sleep 0.1; done
    ;;
start)
    start "${2:?which node}"
    ;;
replace)
    replace "${2:?which node}"
    ;;
tool)
    : "${2:?which node}"
    shift
    tool "$@"
    ;;
with)
    nodes=${2:?how many nodes}
    shift 2
    trap down EXIT
    trap 'exit 130' INT TERM
    up "$nodes"
    PVARK_CQL_TLS=${PVARK_CASSANDRA_TLS:+$root/tls} PVARK_CQL=$(for node in $(seq "$nodes"); do printf '127.0.0.%s:9042 ' "$node"; done) "$@"
    ;;
*)
    sed -n '2,5s/^# //p' "$0"
    exit 2
    ;;
esac
