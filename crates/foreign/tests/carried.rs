//! Configurations of other archivers as they are in use, and what becomes of them: the expected texts are to be read.

use foreign::{Carried, read_appliances, read_channels, read_engine_config, read_list, read_policies, read_properties};
use proptest::prelude::*;

fn pvs(carried: &Carried) -> Vec<String> {
    let one = |pv: &foreign::Pv| {
        let policy = pv.policy.as_deref().map(|policy| format!(" by {policy}")).unwrap_or_default();
        format!("{} {:?} [{}]{policy}", pv.name, pv.method, pv.groups.join(" "))
    };
    carried.pvs.iter().map(one).collect()
}

fn notes(carried: &Carried) -> Vec<String> {
    carried.notes.iter().map(|note| format!("{}:{} {}", note.file, note.line, note.text)).collect()
}

fn none(_: &str) -> Option<String> {
    None
}

#[test]
fn lists_of_the_channel_archiver_are_read_with_their_groups() {
    let text = "# vacuum\r\n!write_period 30\n!default_period 2\n!group sub/rf.cfg\n!group gone.cfg\nVAC:P1 1.0 Monitor\nVAC:P2\n\
                VAC:ON 5 Disable\nRF:Q 10\n!strange 1\nbad\u{7}name 1\n";
    let mut load = |name: &str| match name {
        "sub/rf.cfg" => Ok("RF:Q 0.5\nRF:R 0.5 monitor disable # why\n!group vac.cfg\n".to_owned()),
        other => Err(format!("there is no {other}")),
    };
    let carried = read_list("vac.cfg", text, &mut load);
    let expected = [
        "VAC:P1 Some(Monitor) [vac]",
        "VAC:P2 Some(Scan { period: 2s }) [vac]",
        "VAC:ON Some(Scan { period: 5s }) [vac]",
        "RF:Q Some(Scan { period: 500ms }) [rf vac]",
        "RF:R Some(Monitor) [rf]",
    ];
    assert_eq!(pvs(&carried), expected);
    let expected = "\n[[group]]\nname = \"vac\"\ndisabled_by = [\"VAC:ON\"]\n\n[[group]]\nname = \"rf\"\ndisabled_by = [\"RF:R\"]\n";
    assert_eq!(carried.toml(), expected);
    let expected = [
        "vac.cfg:2 !write_period 30 is not needed: no buffer is sized by it here",
        "vac.cfg:5 the group gone.cfg is left out: there is no gone.cfg",
        "vac.cfg:10 !strange is no parameter that is known",
        "vac.cfg:11 \"bad\\u{7}name\" is left out: a PV name has no blanks or control characters, found '\\u{7}' at byte 3",
    ];
    assert_eq!(notes(&carried), expected);
}

#[test]
fn the_xml_of_the_channel_archiver_is_read_with_its_groups() {
    let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE engineconfig SYSTEM \"engineconfig.dtd\">\n<engineconfig>\n<write_period>30</write_period>\n\
                <group><name>RF &amp; co</name>\n<!-- a <comment> -->\n<channel><name>RF:Q</name><period>0.5 m</period><scan/></channel>\n\
                <channel><name>RF:R</name><period>1</period><monitor/><disable/></channel>\n\
                <channel><name>RF:S</name><period>soon</period><scan/></channel></group>\n\
                <group><name>B</name><channel><name>RF:Q</name><period>10</period><scan/></channel></group>\n</engineconfig>\n";
    let carried = read_engine_config("e.xml", text);
    let expected =
        ["RF:Q Some(Scan { period: 10s }) [B RF___co]", "RF:R Some(Monitor) [RF___co]", "RF:S Some(Monitor) [RF___co]"];
    assert_eq!(pvs(&carried), expected);
    assert_eq!(carried.toml(), "\n[[group]]\nname = \"RF___co\"\ndisabled_by = [\"RF:R\"]\n");
    let expected = [
        "e.xml:4 write_period 30 is not needed: no buffer is sized by it here",
        "e.xml:9 RF:S: a period of \"soon\" cannot be scanned at; it is monitored",
    ];
    assert_eq!(notes(&carried), expected);
    let broken = read_engine_config("e.xml", "<engineconfig>\n<group></engineconfig>");
    assert_eq!(notes(&broken), ["e.xml:2 the file is not XML from here on: </engineconfig> closes what is not open"]);
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
    assert_eq!(read_appliances("a.xml", text, None).toml(), "listen = \"0.0.0.0:17668\"\n");
    let second = read_appliances("a.xml", text, Some("a1"));
    assert_eq!(second.toml(), "listen = \"0.0.0.0:17669\"\n");
    let expected = [
        "a.xml:2 cluster_inetport of a0: archivers share nothing, each is one process",
        "a.xml:0 2 appliances (a0, a1): start an archiver for each, with its own PVs",
    ];
    assert_eq!(notes(&second), expected);
}

#[test]
fn hints_of_channel_finder_are_read() {
    let channel = |name: &str, hint: &str| {
        format!(
            r#"{{"name":"{name}","owner":"ioc","properties":[{{"name":"iocName","value":"i"}},{{"name":"archive","value":"{hint}"}}],"tags":[]}}"#
        )
    };
    let hints = [
        ("A", "monitor@1"),
        ("B", "scan@10"),
        ("C", "default"),
        ("D", "off"),
        ("E", "often"),
        ("F", "policy:RF"),
        ("pva://G", "monitor"),
        ("a b", "monitor"),
    ];
    let text = format!("[{},{{\"name\":\"X\"}}]", hints.map(|(name, hint)| channel(name, hint)).join(","));
    let (carried, channels) = read_channels("cf", &text, "archive").unwrap();
    let expected =
        ["A Some(Monitor) []", "B Some(Scan { period: 10s }) []", "C None []", "F None [] by RF", "G Some(Monitor) []"];
    assert_eq!((pvs(&carried), channels), (expected.map(str::to_owned).to_vec(), 9));
    assert_eq!(carried.notes.len(), 2);
    assert!(read_channels("cf", "<html>", "archive").is_err());
}

proptest! {
    /// Bytes that look a little like each of them.
    #[test]
    fn whatever_texts_are_they_do_not_panic(text in "([<>/!?\\[\\]a-c '\"=(){}:,.#\\\\\n0-9$\u{e9}]|<!--|-->|<a>|</a>|\"\"\"|if |def determinePolicy\\(\\):\n |['k'] = |pb://|\\$\\{){0,60}") {
        read_list("f", &text, &mut |_| Err("none".to_owned()));
        read_engine_config("f", &text);
        read_policies("f", &text, &none);
        read_properties("f", &text);
        read_appliances("f", &text, None);
        let _ = read_channels("f", &text, "archive");
    }
}
