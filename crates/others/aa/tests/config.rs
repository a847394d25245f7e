//! The Appliance's configuration as it is in use, and what becomes of it: the expected texts are to be read.

use aa::{read_appliances, read_policies, read_properties};
use foreign::CarriedOver;
use proptest::prelude::*;

fn notes(carried: &CarriedOver) -> Vec<String> {
    carried.notes.iter().map(|note| format!("{}:{} {}", note.file, note.line, note.text)).collect()
}

fn none(_: &str) -> Option<String> {
    None
}

/// The shape of the Appliance's own file, with branches for names as facilities add them.
const POLICIES: &str = r#"
import os
shorttermstore_plugin_url = 'pb://localhost?name=STS&rootFolder=${STS}/sts&partitionGranularity=PARTITION_HOUR&consolidateOnShutdown=true'
longtermstore_plugin_url = 'pb://localhost?name=LTS&rootFolder=gztar://${LTS}&partitionGranularity=PARTITION_YEAR'
columns = 'parquet://localhost?name=XLTS&rootFolder=/arch/columns&partitionGranularity=PARTITION_YEAR'

def getPolicyList():
    pvPoliciesDict = {}
    pvPoliciesDict['Fast'] = "PVs at more than 2Hz"   # a comment
    return pvPoliciesDict

def getFieldsArchivedAsPartOfStream():
    return ['HIHI','LOLO'];

def determinePolicy(pvInfoDict):
    """What a PV gets
    if this were code it would matter"""
    pvPolicyDict = {}
    userPolicyOverride = ''
    if 'policyName' in pvInfoDict:
        userPolicyOverride = pvInfoDict['policyName']
    if userPolicyOverride == 'Fast':
        pvPolicyDict['samplingPeriod'] = 0.1
        pvPolicyDict['samplingMethod'] = 'MONITOR'
        pvPolicyDict['policyName'] = 'Fast';
        pvPolicyDict['dataStores'] = [ shorttermstore_plugin_url,
            longtermstore_plugin_url ]
    elif pvInfoDict['pvName'].startswith('VAC:') or pvInfoDict['pvName'].endswith(':P'):
        pvPolicyDict['samplingPeriod'] = 10.0
        pvPolicyDict['samplingMethod'] = 'SCAN'
        pvPolicyDict['policyName'] = 'Vacuum'
        pvPolicyDict['archiveFields'] = ['HIHI', "LOLO"]
    elif re.match(r'RF[0-9]+:', pvInfoDict['pvName']):
        pvPolicyDict['samplingMethod'] = 'MONITOR'
        pvPolicyDict['policyName'] = 'RF'
        pvPolicyDict['appliance'] = 'appliance1'
    elif pvInfoDict['eventRate'] > 2.0 and pvInfoDict['RTYP'] == 'ai':
        pvPolicyDict['samplingMethod'] = 'MONITOR'
        pvPolicyDict['policyName'] = 'Busy'
    else:
        pvPolicyDict['samplingPeriod'] = 1.0
        pvPolicyDict['samplingMethod'] = 'MONITOR'
        pvPolicyDict['policyName'] = 'Default'
    doSomething(pvPolicyDict)
    return pvPolicyDict
"#;

#[test]
fn policies_in_python_become_policies_or_notes() {
    let env = |name: &str| (name == "LTS").then(|| "/arch/lts".to_owned());
    let carried = read_policies("policies.py", POLICIES, &env);
    let expected = r#"
# PVs at more than 2Hz
[[policy]]
name = "Fast"
match = "(chosen by name)"
method = "monitor"

[[policy]]
name = "Vacuum"
match = ["VAC:*", "*:P"]
method = "scan"
period = "10s"
fields = ["HIHI", "LOLO"]

[[policy]]
name = "RF"
match = ["~(?:RF[0-9]+:).*"]
method = "monitor"

[[policy]]
name = "Busy"
match = "(chosen by name)"
method = "monitor"

[[policy]]
name = "Default"
match = ["*"]
method = "monitor"

[[old_archive]] # STS
kind = "plainpb"
path = "${STS}/sts"

[[old_archive]] # LTS
kind = "plainpb"
path = "/arch/lts"

[[old_archive]] # XLTS
kind = "plainpb"
path = "/arch/columns"
"#;
    assert_eq!(carried.toml(), expected);
    let expected = [
        "policies.py:3 STS is not set: put the folder of the store STS into its path",
        "policies.py:3 consolidateOnShutdown=true of the store STS has no counterpart: segments are sealed by the week, and [[storage]] and [retention] say where they go",
        "policies.py:13 HIHI, LOLO stand within samples there; here `fields` of a policy records them beside",
        "policies.py:36 appliance = Text(\"appliance1\") has no counterpart in a policy",
        "policies.py:44 not understood: doSomething(pvPolicyDict)",
        "policies.py:37 the condition `pvInfoDict['eventRate'] > 2.0 and pvInfoDict['RTYP'] == 'ai'` does not speak of names alone: give its policy a match",
    ];
    assert_eq!(notes(&carried), expected);
}

#[test]
fn properties_and_appliances_are_read() {
    let text = "# site\norg.epics.archiverappliance.mgmt.bpl.ArchivePVAction.defaultAccessProtocol = PVA\n\
                org.epics.archiverappliance.config.PVTypeInfo.secondsToBuffer=10\norg.epics.archiverappliance.x.y = z\nnonsense\n";
    let carried = read_properties("a.properties", text);
    assert_eq!(carried.toml(), "default_protocol = \"pva\"\n");
    let expected = [
        "a.properties:3 config.PVTypeInfo.secondsToBuffer is not needed: no sample is dropped for the size of a PV's buffer",
        "a.properties:4 x.y has no counterpart",
        "a.properties:5 \"nonsense\" is no property",
    ];
    assert_eq!(notes(&carried), expected);

    let text = "<appliances>\n<appliance><identity>a0</identity><cluster_inetport>h0:16670</cluster_inetport>\n\
                <data_retrieval_url>http://h0:17668/retrieval</data_retrieval_url></appliance>\n\
                <appliance><identity>a1</identity><data_retrieval_url>http://h1:17669/retrieval</data_retrieval_url></appliance></appliances>";
    assert_eq!(
        read_appliances("a.xml", text, None).toml(),
        "access = { anonymous = \"read\" }\nlisten = \"0.0.0.0:17668\"\n"
    );
    let second = read_appliances("a.xml", text, Some("a1"));
    assert_eq!(second.toml(), "access = { anonymous = \"read\" }\nlisten = \"0.0.0.0:17669\"\n");
    let expected = [
        "a.xml:2 cluster_inetport of a0: archivers share nothing, each is one process",
        "a.xml:4 data_retrieval_url of a1: anybody may do everything there, and may read here: docs/access.md says who may do more",
        "a.xml:0 2 appliances (a0, a1): start an archiver for each, with its own PVs",
    ];
    assert_eq!(notes(&second), expected);
}

proptest! {
    /// Bytes that look a little like each of them.
    #[test]
    fn whatever_texts_are_they_do_not_panic(text in "([<>/!?\\[\\]a-c '\"=(){}:,.#\\\\\n0-9$\u{e9}]|<!--|-->|<a>|</a>|\"\"\"|if |def determinePolicy\\(\\):\n |['k'] = |pb://|\\$\\{){0,60}") {
        read_policies("f", &text, &none);
        read_properties("f", &text);
        read_appliances("f", &text, None);
    }
}
