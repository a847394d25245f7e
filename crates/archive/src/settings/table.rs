//! The table of settings: each of them is defined once, here, with all the ways in which it is written.
//!
//! From it come what a PV has (`Rules`), what somebody says (`Wishes`), requests, policies, options of the command line, answers, texts
//! that say what would change, the catalogue and the description of the API. A new setting is one more entry, and a type for its
//! value if none of those that are there fits. A rule is kept as one type, and wished for as another where there need not be any.

use std::{fmt, slice, sync::Arc};

use super::{
    Changes, Copies, Deadband, FieldName, FieldPath, Keep, Method, Origin, Pipeline, Protocol, PvSettings, RateCap,
    RuleError, RuleName,
    catalogue::{POLICY, SettingCell, SettingCells},
    method::{PERIOD_MAX, PERIOD_MIN},
    written::{Flag, Given, Givens, Key, Setting, Shape, Value, Written},
};

/// Makes settings, wishes and the table from one list. Those of `row` every PV has; the others are rules, which most have not.
macro_rules! settings {
    (
        row { $($(#[$row_doc:meta])* $row:ident: $row_type:ty => $row_setting:expr;)* }
        rules { $($(#[$doc:meta])* $rule:ident: $type:ty as $wish:ty => $setting:expr;)* }
    ) => {
        /// All settings, in the order in which texts have them.
        pub static SETTINGS: [Setting; [$(stringify!($row),)* $(stringify!($rule)),*].len()] =
            [$($row_setting,)* $($setting),*];

        /// What is asked of the sampling of a PV beyond its method.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Rules {
            $($(#[$doc])* pub $rule: $type,)*
            /// It is one of the fields of another PV, which it follows.
            pub is_field: bool,
            /// Where all of this comes from.
            pub origin: Origin,
        }

        /// What somebody wants of the way in which a PV is archived. What is left open comes from elsewhere.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Wishes {
            $($(#[$row_doc])* pub $row: Option<$row_type>,)*
            $($(#[$doc])* pub $rule: Option<$wish>,)*
        }

        impl Wishes {
            /// Reads what was written of settings; the first mistake is told.
            pub fn read(given: &Givens, written: Written) -> Result<Wishes, RuleError> {
                let mut settings = SETTINGS.iter();
                Ok(Wishes {
                    $($row: read(&mut settings, given, written)?,)*
                    $($rule: read(&mut settings, given, written)?,)*
                })
            }

            /// These over what is there.
            pub fn over(&self, settings: &PvSettings) -> PvSettings {
                let base = settings.rules();
                let rules = Rules {
                    $($rule: base.$rule.under(self.$rule.as_ref()),)*
                    is_field: base.is_field,
                    origin: base.origin.clone(),
                };
                PvSettings {
                    $($row: self.$row.unwrap_or(settings.$row),)*
                    state: settings.state,
                    rules: rules.shared(),
                }
            }

            /// The text of each setting; none where nothing is said.
            fn texts(&self) -> [Option<String>; SETTINGS.len()] {
                let mut settings = SETTINGS.iter();
                [$(text(&mut settings, &self.$row),)* $(text(&mut settings, &self.$rule)),*]
            }
        }

        /// What settings ask for beyond what they would do by themselves.
        impl From<&PvSettings> for Wishes {
            fn from(settings: &PvSettings) -> Wishes {
                let rules = settings.rules();
                Wishes {
                    $($row: Some(settings.$row),)*
                    $($rule: rules.$rule.wish(),)*
                }
            }
        }

        impl Rules {
            /// As answers have them, by the names of their keys.
            pub fn shown(&self) -> Vec<(&'static str, Given)> {
                let mut answers = SETTINGS.iter().filter_map(|setting| setting.answer.as_ref());
                let mut key = || answers.next().expect("each rule stands in answers").name;
                vec![$((key(), Rule::shown(&self.$rule))),*]
            }

            fn put_all(&self, cells: &mut SettingCells) {
                let mut settings = rules_of_table();
                $(Rule::put(&self.$rule, settings.next().expect(IN_TABLE).cells, cells);)*
            }

            fn take_all(cells: &SettingCells, is_field: bool, origin: Origin) -> Option<Rules> {
                let mut settings = rules_of_table();
                Some(Rules {
                    $($rule: Rule::take(settings.next().expect(IN_TABLE).cells, cells)?,)*
                    is_field,
                    origin,
                })
            }
        }

        /// The settings that are rules.
        fn rules_of_table() -> slice::Iter<'static, Setting> {
            SETTINGS[[$(stringify!($row)),*].len()..].iter()
        }
    };
}

const IN_TABLE: &str = "each field is made from an entry of the table";

fn read<V: Value>(
    settings: &mut slice::Iter<'static, Setting>,
    given: &Givens,
    written: Written,
) -> Result<Option<V>, RuleError> {
    let mut keys = settings.next().expect(IN_TABLE).keys(written).iter().map(|key| given.get(key.name));
    V::read([keys.next().flatten(), keys.next().flatten()], written)
}

fn text<V: Value>(settings: &mut slice::Iter<'static, Setting>, wish: &Option<V>) -> Option<String> {
    let setting = settings.next().expect(IN_TABLE);
    wish.as_ref().map(|wish| wish.text(setting.policy.first().map_or("", |key| key.name)))
}

settings! {
    row {
        /// By which protocol.
        protocol: Protocol => Setting {
            request: &[Key::new("protocol", Shape::Word(&["ca", "pva"]), "")],
            policy: &[Key::new("protocol", Shape::Text, "")],
            flag: None,
            answer: None,
            cells: &[],
        };
        /// When samples are taken.
        method: Method => Setting {
            request: &[
                Key::new("method", Shape::Word(&["monitor", "scan"]), ""),
                Key::new("period", Shape::Within(PERIOD_MIN.as_secs_f64(), PERIOD_MAX.as_secs_f64()), "Seconds, for scan."),
            ],
            policy: &[Key::new("method", Shape::Text, ""), Key::new("period", Shape::Text, "")],
            flag: Some(Flag {
                name: "scan",
                value: "SECONDS",
                help: "Take the newest value once in so many seconds instead of every update",
                key: "period",
            }),
            answer: None,
            cells: &[],
        };
    }
    rules {
        /// How far the value must move.
        deadband: Option<Deadband> as Deadband => Setting {
            request: &[Key::new(
                "deadband",
                Shape::NumberOrText,
                "How far the value must move: 0.5, or \"5%\" of the last sample.",
            )],
            policy: &[Key::new("deadband", Shape::NumberOrText, "")],
            flag: Some(Flag {
                name: "deadband",
                value: "WIDTH",
                help: "Leave out what moves no further than this: 0.5, or 5% of the last sample",
                key: "deadband",
            }),
            answer: Some(Key::new(
                "deadband",
                Shape::Maybe(&Shape::Text),
                "How far the value must move, as 0.5 or 5%. Changes of alarm are always recorded.",
            )),
            cells: &[0, 1],
        };
        /// The most samples that are taken.
        rate_cap: Option<RateCap> as RateCap => Setting {
            request: &[
                Key::new("rate_cap", Shape::Number, "Samples per second at most."),
                Key::new("burst", Shape::Count { min: 1, max: u32::MAX as u64 }, "How many may come at once."),
            ],
            policy: &[Key::new("rate_cap", Shape::Rate, "")],
            flag: Some(Flag {
                name: "rate-cap",
                value: "PER_SECOND",
                help: "Take at most so many samples a second",
                key: "rate_cap",
            }),
            answer: Some(Key::new(
                "rate_cap",
                Shape::Maybe(&Shape::Members(&[
                    Key::new("per_second", Shape::Number, ""),
                    Key::new("burst", Shape::Count { min: 0, max: u32::MAX as u64 }, ""),
                ])),
                "",
            )),
            cells: &[2, 3],
        };
        /// Which changes the IOC is asked for.
        changes: Changes as Changes => Setting {
            request: &[Key::new("changes", Shape::Word(&["archive", "value", "any"]), "Which changes the IOC is asked for.")],
            policy: &[Key::new("changes", Shape::Text, "")],
            flag: None,
            answer: Some(Key::new(
                "changes",
                Shape::Word(&["archive", "value", "any"]),
                "Which changes the IOC is asked for.",
            )),
            cells: &[4],
        };
        /// Whether a pvAccess server waits to be told that there is room.
        pipeline: Pipeline as Pipeline => Setting {
            request: &[Key::new(
                "pipeline",
                Shape::Switch,
                "Whether a pvAccess server is to wait until it is told that there is room.",
            )],
            policy: &[Key::new("pipeline", Shape::Switch, "")],
            flag: None,
            answer: Some(Key::new("pipeline", Shape::Switch, "")),
            cells: &[16],
        };
        /// Fields of the record that have a history of their own.
        fields: Vec<FieldName> as Vec<FieldName> => Setting {
            request: &[Key::new("fields", Shape::Texts, "Fields that get a history of their own, as in HIHI.")],
            policy: &[Key::new("fields", Shape::Texts, "")],
            flag: Some(Flag {
                name: "fields",
                value: "FIELDS",
                help: "Fields that get a history of their own: HIHI,EGU",
                key: "fields",
            }),
            answer: Some(Key::new("fields", Shape::Texts, "Fields that have a history of their own, under PV.FIELD.")),
            cells: &[5],
        };
        /// The fields that are recorded of structures, besides alarm and time stamp; none for all of them.
        only: Vec<FieldPath> as Vec<FieldPath> => Setting {
            request: &[Key::new(
                "only",
                Shape::Texts,
                "Fields of a structure that alone are recorded, as in value.rms; its alarm and timeStamp always are.",
            )],
            policy: &[Key::new("only", Shape::Texts, "")],
            flag: Some(Flag {
                name: "only",
                value: "PATHS",
                help: "Fields of structures that alone are recorded: value.rms,peaks",
                key: "only",
            }),
            answer: Some(Key::new(
                "only",
                Shape::Texts,
                "Fields of a structure that alone are recorded, besides its alarm and timeStamp; all if there are none.",
            )),
            cells: &[10],
        };
        /// The groups that it is in. It is sampled while one of them is enabled, or if it is in none.
        groups: Vec<RuleName> as Vec<RuleName> => Setting {
            request: &[Key::new("groups", Shape::Texts, "Groups that it is in.")],
            policy: &[Key::new("groups", Shape::Texts, "")],
            flag: Some(Flag { name: "groups", value: "GROUPS", help: "Groups that the PVs are in", key: "groups" }),
            answer: Some(Key::new("groups", Shape::Texts, "")),
            cells: &[6],
        };
        /// How long it is kept, if not as long as the archive says.
        keep: Option<Keep> as Keep => Setting {
            request: &[Key::new(
                "keep_seconds",
                Shape::Count { min: 0, max: u64::MAX },
                "How long it is kept; 0 is for ever.",
            )],
            policy: &[Key::new("keep", Shape::Text, "")],
            flag: None,
            answer: Some(Key::new("keep_seconds", Shape::Maybe(&Shape::Count { min: 0, max: u64::MAX }), "")),
            cells: &[7],
        };
        /// How many nodes of a cluster record it.
        copies: Copies as Copies => Setting {
            request: &[Key::new(
                "copies",
                Shape::Count { min: 1, max: 2 },
                "How many nodes of a cluster record it; 2 where a policy of the cluster says so.",
            )],
            policy: &[Key::new("copies", Shape::Count { min: 1, max: 2 }, "")],
            flag: None,
            answer: Some(Key::new(
                "copies",
                Shape::Count { min: 1, max: 2 },
                "How many nodes of a cluster record it.",
            )),
            cells: &[11],
        };
    }
}

/// How a PV has a setting: what is usual is told nowhere.
trait Rule: Sized {
    /// What somebody may wish it to be.
    type Value: Value;

    /// The value with a wish, if there is one, in its place.
    fn under(&self, wish: Option<&Self::Value>) -> Self;

    /// What is beyond the usual.
    fn wish(&self) -> Option<Self::Value>;

    fn shown(&self) -> Given;

    fn put(&self, numbers: &[u32], cells: &mut SettingCells) {
        if let Some(wish) = self.wish() {
            wish.put(numbers, cells);
        }
    }

    fn take(numbers: &[u32], cells: &SettingCells) -> Option<Self>;
}

/// One that there may be or not.
impl<V: Value + Copy> Rule for Option<V> {
    type Value = V;

    fn under(&self, wish: Option<&V>) -> Option<V> {
        wish.copied().or(*self)
    }

    fn wish(&self) -> Option<V> {
        *self
    }

    fn shown(&self) -> Given {
        self.as_ref().map_or(Given::Nothing, Value::shown)
    }

    fn take(numbers: &[u32], cells: &SettingCells) -> Option<Option<V>> {
        V::take(numbers, cells)
    }
}

/// Ones that there always are, of which one is the usual.
macro_rules! with_usual {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> Rule for $type
        where
            $type: Value,
        {
            type Value = $type;

            fn under(&self, wish: Option<&$type>) -> $type {
                wish.unwrap_or(self).clone()
            }

            fn wish(&self) -> Option<$type> {
                (*self != <$type>::default()).then(|| self.clone())
            }

            fn shown(&self) -> Given {
                Value::shown(self)
            }

            fn take(numbers: &[u32], cells: &SettingCells) -> Option<$type> {
                <$type as Value>::take(numbers, cells).map(Option::unwrap_or_default)
            }
        }
    };
}

with_usual!([] Changes);
with_usual!([] Pipeline);
with_usual!([] Copies);
with_usual!([N: Clone + PartialEq] Vec<N>);

/// Bits of the flags that are no setting.
const POLICY_BY_HAND: u32 = 1;
const PROTOCOL_BY_HAND: u32 = 2;
const SAMPLING_BY_HAND: u32 = 4;
const IS_FIELD: u32 = 8;

impl Rules {
    /// One that PVs can share; none if nothing is asked.
    pub fn shared(self) -> Option<Arc<Rules>> {
        (self != Rules::default()).then(|| Arc::new(self))
    }

    /// As they stand in the catalogue.
    pub fn cells(&self) -> SettingCells {
        let mut cells = SettingCells::default();
        self.put_all(&mut cells);
        if let Some(policy) = &self.origin.policy {
            cells.put(POLICY, SettingCell::Text(policy.to_string()));
        }
        let flags = [
            (self.origin.policy_by_hand, POLICY_BY_HAND),
            (self.origin.protocol_by_hand, PROTOCOL_BY_HAND),
            (self.origin.sampling_by_hand, SAMPLING_BY_HAND),
            (self.is_field, IS_FIELD),
        ];
        flags.iter().filter(|(is_set, _)| *is_set).for_each(|(_, bit)| cells.raise(*bit));
        cells
    }

    /// From the catalogue; none if it makes no sense.
    pub fn of_cells(cells: &SettingCells) -> Option<Rules> {
        let policy = cells.one(&[POLICY], |cell| RuleName::new(cell.text()?).ok())?;
        let origin = Origin {
            policy,
            policy_by_hand: cells.is_raised(POLICY_BY_HAND),
            protocol_by_hand: cells.is_raised(PROTOCOL_BY_HAND),
            sampling_by_hand: cells.is_raised(SAMPLING_BY_HAND),
        };
        let rules = Rules::take_all(cells, cells.is_raised(IS_FIELD), origin)?;
        cells.has_flags().then_some(rules)
    }
}

impl Wishes {
    /// Whether anything is said besides the protocol.
    pub fn says_sampling(&self) -> bool {
        *self != Wishes { protocol: self.protocol, ..Wishes::default() }
    }
}

impl fmt::Display for Wishes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said: Vec<String> = self.texts().into_iter().flatten().collect();
        f.write_str(&said.join(", "))
    }
}
