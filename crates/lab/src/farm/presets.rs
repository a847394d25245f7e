//! Farms that have a name.

use super::{group::Group, plan::Plan};

/// A farm with a name.
pub(crate) struct Preset {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    groups: &'static [&'static str],
}

pub(crate) const PRESETS: &[Preset] = &[
    Preset {
        name: "types",
        what: "a scalar of each type, an array of each, alarms, rests, clocks that jump",
        groups: &[
            "name=T:f64,alarms=5",
            "name=T:f32,type=f32",
            "name=T:i32,type=i32,alarms=3",
            "name=T:i16,type=i16",
            "name=T:u8,type=u8",
            "name=T:enum,type=enum",
            "name=T:string,type=string",
            "name=T:W:f64,length=1000,payload=smooth",
            "name=T:W:f32,type=f32,length=100,payload=noise",
            "name=T:W:i32,type=i32,length=50000,rate=14",
            "name=T:W:i16,type=i16,length=3",
            "name=T:W:u8,type=u8,length=7,payload=noise",
            "name=T:W:one,length=1",
            "name=T:rests,rate=50,active=25,rest=75",
            "name=T:still,rate=0",
            "name=T:ahead,clock=3600@5;0@10",
            "name=T:behind,clock=-60@5",
            "name=T:never,clock=never@0",
        ],
    },
    Preset {
        name: "structures",
        what: "a structure of each kind, by pvAccess: tables, images, statistics, unions",
        groups: &[
            "name=N:table,shape=table,length=20,alarms=5",
            "name=N:image,shape=image,type=i16,length=10000,payload=smooth,rate=14",
            "name=N:image:f32,shape=image,type=f32,length=100,payload=noise",
            "name=N:statistic,shape=statistic,alarms=3",
            "name=N:multi,shape=multi",
            "name=N:names,shape=names",
            "name=N:mixture,shape=mixture",
        ],
    },
    Preset {
        name: "hostile",
        what: "by pvAccess, a PV that breaks the protocol in each way that spares its circuit, and one that does not",
        groups: &[
            "name=H:garbage,breach=garbage/10",
            "name=H:truncated,breach=truncated/10",
            "name=H:oversize,breach=oversize/10",
            "name=H:wrong-request,breach=wrong-request/10",
            "name=H:introspection,breach=introspection/1",
            "name=H:silence,breach=silence/10",
            "name=H:good,count=100",
        ],
    },
    Preset { name: "scalars", what: "50,000 floats at 10 Hz", groups: &["name=S:,count=50000"] },
    Preset { name: "many", what: "100,000 floats at 0.1 Hz", groups: &["name=M:,count=100000,rate=0.1,slices=100"] },
    Preset {
        name: "ess",
        what: "10,000 waveforms of 1,000 integers at 14 Hz: scenario AAPS-0620 of the study of ESS",
        groups: &["name=ESS:,count=10000,type=i32,length=1000,rate=14"],
    },
    Preset {
        name: "excas",
        what: "the test of the Channel Archiver: fred, freddy, janet, alan, jane and 1,000 janes at 10 Hz",
        groups: &[
            "name=fred,rate=0.5,alarms=1",
            "name=freddy,rate=0.5,alarms=1",
            "name=janet,rate=10",
            "name=jane,rate=10",
            "name=alan,rate=10,length=100,payload=noise",
            "name=jane,count=1000,rate=10",
        ],
    },
];

/// The groups of a preset.
pub(crate) fn groups(name: &str) -> Result<Vec<Group>, String> {
    specs(name)?.iter().map(|spec| spec.parse()).collect()
}

/// The groups of a preset as they are ordered.
pub(crate) fn specs(name: &str) -> Result<&'static [&'static str], String> {
    let found = PRESETS.iter().find(|preset| preset.name == name);
    let known = || PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    found.map(|preset| preset.groups).ok_or_else(|| format!("there is no preset {name:?}, only {}", known()))
}

/// All of them in words.
pub(crate) fn list() -> String {
    let lines = PRESETS.iter().map(|preset| {
        let plan = Plan::new(groups(preset.name).unwrap_or_default(), 0);
        format!("{:<8} {} ({} PVs, {:.1} MB/s)", preset.name, preset.what, plan.len(), plan.bytes_per_second() / 1e6)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_preset_has_pvs_with_names_of_their_own() {
        for preset in PRESETS {
            let plan = Plan::new(groups(preset.name).expect("groups"), 0);
            assert!(plan.len() > 0);
            for pv in (0..plan.len()).step_by(7) {
                assert_eq!(plan.find(&plan.name(pv)), Some(pv), "{}", plan.name(pv));
            }
        }
        assert!(groups("nothing").is_err_and(|error| error.contains("excas")));
    }
}
