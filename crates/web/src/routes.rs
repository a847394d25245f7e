//! Every URL in one table, with the right that it needs. The router and the test of the API's description are made from it; `dispatch` holds
//! each right against the listener, and the service against the client.

use archive::Right;
use axum::http::request::Parts;

use crate::{
    api::{
        aligned, at, bins, cluster, computed, deletions, diff, explain, exports, fft, gaps, groups, histogram, import,
        import_lines, iocs, ledger, live, login, many, memos, names, policies, pvs, removals, roster, samples, slow,
        status, tokens, tree, undo, upkeep, view, when, xy,
    },
    appliance::{
        aliases, changes, configuration, details, engine, flags, losses, manage, measures, rates, reports, retrieval,
        rules, search, status as appliance_status,
    },
    browser,
    call::Call,
    delivery::{
        answer::{Answer, JSON, whole},
        leased::OfProgram,
    },
    host::Authority,
    method::Method,
    metrics,
    needed::Needed,
    refusal::Refusal,
    ui,
};

/// One URL with what it does.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// Which right it needs; none if whoever comes may do it.
    pub(crate) right: Option<Right>,
    #[cfg_attr(not(test), expect(dead_code, reason = "only the comparison with the description reads it"))]
    pub(crate) summary: &'static str,
    pub(crate) handler: fn(&Call) -> Answer,
}

const fn get(path: &'static str, summary: &'static str, handler: fn(&Call) -> Answer) -> Route {
    Route { method: Method::Get, path, right: Some(Right::Read), summary, handler }
}

/// What anybody may ask or do, as it tells nothing of the archive: who one is, and logging in and out.
const fn open(method: Method, path: &'static str, summary: &'static str, handler: fn(&Call) -> Answer) -> Route {
    Route { method, path, right: None, summary, handler }
}

const fn post(path: &'static str, right: Right, summary: &'static str, handler: fn(&Call) -> Answer) -> Route {
    Route { method: Method::Post, path, right: Some(right), summary, handler }
}

const fn put(path: &'static str, right: Right, summary: &'static str, handler: fn(&Call) -> Answer) -> Route {
    Route { method: Method::Put, path, right: Some(right), summary, handler }
}

/// What takes something away, for which one must be an administrator.
const fn delete(path: &'static str, summary: &'static str, handler: fn(&Call) -> Answer) -> Route {
    Route { method: Method::Delete, path, right: Some(Right::Administer), summary, handler }
}

/// A command that the Archiver Appliance takes by GET.
const fn command(path: &'static str, right: Right, summary: &'static str, handler: fn(&Call) -> Answer) -> Route {
    Route { method: Method::Get, path, right: Some(right), summary, handler }
}

use Right::{Administer, Operate, Read};

/// The Appliance's lists of names. Its clients act upon what is not in them, and none looks for a header: they are whole, or refused.
pub(crate) const WHOLE_LISTS: [&str; 24] = [
    "/retrieval/bpl/searchForPVsRegex",
    "/retrieval/bpl/getMatchingPVs",
    "/mgmt/bpl/getAllPVs",
    "/mgmt/bpl/getMatchingPVsForThisAppliance",
    "/mgmt/bpl/getPVStatus",
    "/mgmt/bpl/getAllExpandedPVNames",
    "/mgmt/bpl/getPausedPVsReport",
    "/mgmt/bpl/getRecentlyAddedPVs",
    "/mgmt/bpl/getRecentlyAddedPVsForThisInstance",
    "/mgmt/bpl/getAllAliases",
    "/retrieval/bpl/filterArchivedPVs",
    "/mgmt/bpl/archivedPVs",
    "/mgmt/bpl/unarchivedPVs",
    "/mgmt/bpl/archivedPVsNotInList",
    "/mgmt/bpl/getTypeInfoKeys",
    "/mgmt/bpl/getPVsForThisAppliance",
    "/mgmt/bpl/getPausedPVsForThisAppliance",
    "/mgmt/bpl/exportConfig",
    "/mgmt/bpl/exportConfigForAppliance",
    "/mgmt/bpl/getRecentlyModifiedPVs",
    "/mgmt/bpl/getRecentlyModifiedPVsForThisInstance",
    "/mgmt/bpl/getCreationReportForAppliance",
    "/engine/bpl/listAllChannels",
    "/engine/bpl/status",
];

/// The archive's own lists for which the list of PVs alone is asked. Where a part of that is not known their header says so.
pub(crate) const LISTS: [&str; 6] =
    ["/api/v1/aliases", "/api/v1/removed", "/api/v1/deletions", "/api/v1/audit", "/api/v1/undo", "/api/v1/purge"];

/// All of them. Paths that stand in no row lead to the web page, or nowhere.
pub(crate) static ROUTES: &[Route] = &[
    // The archive's own API.
    get("/api/v1/status", "How the archiver fares", status::show),
    get("/api/v1/pvs", "PVs whose names match, a page at a time", pvs::list),
    post("/api/v1/pvs", Operate, "Archive PVs", pvs::add),
    post("/api/v1/names", Operate, "Which PVs a list, a .db file or an export of the Appliance names", names::read),
    get("/api/v1/iocs", "The IOCs of the PVs, and how the connections to them fare", iocs::list),
    get("/api/v1/tree", "One level of the tree that the names make", tree::level),
    get("/api/v1/pvs/{pv}", "Everything about one PV but its samples", pvs::show),
    delete("/api/v1/pvs/{pv}", "Take a PV out of the archive, with or without its data", removals::remove),
    post("/api/v1/pvs/{pv}/restore", Administer, "Bring back a PV that was removed", removals::restore),
    post("/api/v1/pvs/{pv}/rename", Administer, "Give a PV another name", roster::rename),
    put("/api/v1/pvs/{pv}/aliases/{alias}", Administer, "Give a PV one more name", roster::add_alias),
    delete("/api/v1/pvs/{pv}/samples", "Hide what was recorded in a range until now", deletions::delete),
    post("/api/v1/pvs/{pv}/import", Operate, "Take samples of the past as CSV", import::import),
    post("/api/v1/import", Operate, "Take samples of many PVs as the Archiver Appliance's lines", import_lines::import),
    post("/api/v1/import/type-info", Operate, "Take PVs over from the Archiver Appliance", import_lines::type_infos),
    delete("/api/v1/pvs/{pv}/aliases/{alias}", "Take one of its other names from a PV", roster::remove_alias),
    post("/api/v1/pvs/{pv}/pause", Operate, "Stop taking samples of a PV", pvs::pause),
    post("/api/v1/pvs/{pv}/resume", Operate, "Take samples of a PV again", pvs::resume),
    get("/api/v1/pvs/{pv}/samples", "Samples of a range as JSON, CSV, Arrow, Parquet or numpy's file", samples::show),
    get("/api/v1/pvs/{pv}/bins", "A range reduced to bins, for drawing", bins::show),
    get("/api/v1/pvs/{pv}/gaps", "When nothing, or not everything, was recorded, and why", gaps::list),
    get("/api/v1/pvs/{pv}/ledger", "What became of every update, minute by minute", ledger::show),
    get("/api/v1/pvs/{pv}/explain", "Why there is no data, or not all", ledger::explain),
    get("/api/v1/pvs/{pv}/metadata", "Units, limits and labels with their history", gaps::metadata),
    get("/api/v1/samples", "Samples of several PVs in one answer", many::samples),
    post("/api/v1/samples", Read, "Samples of several PVs in one answer", many::samples),
    get("/api/v1/aligned", "Several PVs on the same times", aligned::show),
    post("/api/v1/aligned", Read, "Several PVs on the same times", aligned::show),
    get("/api/v1/at", "The values of many PVs at one time", at::show),
    post("/api/v1/at", Read, "The values of many PVs at one time", at::show),
    get("/api/v1/view", "Bins, gaps and metadata of many PVs, for drawing", view::show),
    post("/api/v1/view", Read, "Bins, gaps and metadata of many PVs, for drawing", view::show),
    get("/api/v1/exports", "Exports of many PVs, the newest first", exports::list),
    post("/api/v1/exports", Read, "Export many PVs as one file, or say what that would be", exports::order),
    get("/api/v1/exports/{number}", "How far an export is", exports::show),
    get("/api/v1/exports/{number}/file", "The file of an export, or a part of it", exports::file),
    Route {
        right: Some(Read),
        ..delete("/api/v1/exports/{number}", "End an export, and take its file away", exports::remove)
    },
    get("/api/v1/when", "When a condition over PVs held", when::show),
    post("/api/v1/when", Read, "When a condition over PVs held", when::show),
    get("/api/v1/diff", "Which of many PVs changed between two times", diff::show),
    post("/api/v1/diff", Read, "Which of many PVs changed between two times", diff::show),
    get("/api/v1/formula", "What a formula over PVs comes to", computed::formula),
    post("/api/v1/formula", Read, "What a formula over PVs comes to", computed::formula),
    get("/api/v1/stats", "What a PV or a formula amounts to in a range", computed::stats),
    post("/api/v1/stats", Read, "What a PV or a formula amounts to in a range", computed::stats),
    get("/api/v1/xy", "What two expressions were at the same time, in pairs", xy::show),
    post("/api/v1/xy", Read, "What two expressions were at the same time, in pairs", xy::show),
    get("/api/v1/histogram", "For how long a number lay between which edges", histogram::show),
    post("/api/v1/histogram", Read, "For how long a number lay between which edges", histogram::show),
    get("/api/v1/fft", "How strong each frequency is", fft::show),
    post("/api/v1/fft", Read, "How strong each frequency is", fft::show),
    get("/api/v1/policies", "How PVs are archived by their names", policies::list),
    post("/api/v1/policies/plan", Read, "What the policies of the config file would change", policies::plan),
    post(
        "/api/v1/policies/apply",
        Operate,
        "Apply the policies of the config file to the PVs that there are",
        policies::apply,
    ),
    get("/api/v1/groups", "Groups of PVs, and what switches them", groups::list),
    put("/api/v1/groups/{group}", Operate, "Say which PVs switch a group", groups::set),
    Route {
        right: Some(Operate),
        ..delete("/api/v1/groups/{group}", "Take its switches from a group", groups::remove)
    },
    get("/api/v1/aliases", "All aliases with their PVs", roster::aliases),
    post("/api/v1/pause", Operate, "Stop taking samples of PVs, all in one change", removals::pause_many),
    post("/api/v1/resume", Operate, "Take samples of PVs again, all in one change", removals::resume_many),
    post("/api/v1/remove", Administer, "Take PVs out of the archive, all in one change", removals::remove_many),
    post("/api/v1/restore", Administer, "Bring back PVs that were removed, all in one change", removals::restore_many),
    get("/api/v1/removed", "PVs that were removed and can come back", removals::removed),
    get("/api/v1/deletions", "Ranges that were deleted", deletions::list),
    post("/api/v1/deletions/{number}/undo", Administer, "Bring back what a deletion hides", deletions::undo),
    get("/api/v1/purge", "What a purge would take", deletions::preview),
    post("/api/v1/purge", Administer, "Give up for good what was deleted, and free its space", deletions::purge),
    get("/api/v1/undo", "Orders that can be taken back", undo::list),
    get("/api/v1/undo/{number}", "What taking an order back would do", undo::plan),
    post("/api/v1/undo/{number}", Operate, "Take an order back", undo::undo),
    get("/api/v1/notes", "Notes on times and PVs, the newest first", memos::notes),
    post("/api/v1/notes", Operate, "Write notes, those of an export too", memos::write_notes),
    get("/api/v1/notes/{number}", "A note", memos::note),
    put("/api/v1/notes/{number}", Operate, "Write a note anew", memos::change_note),
    Route { right: Some(Operate), ..delete("/api/v1/notes/{number}", "Take a note away", memos::remove_note) },
    get("/api/v1/views", "Views that were saved, the newest first", memos::views),
    post("/api/v1/views", Operate, "Save views under names, those of an export too", memos::save_views),
    get("/api/v1/views/{number}", "A saved view", memos::view),
    put("/api/v1/views/{number}", Operate, "Save a view anew", memos::change_view),
    Route { right: Some(Operate), ..delete("/api/v1/views/{number}", "Take a saved view away", memos::remove_view) },
    get("/api/v1/audit", "Who changed what is in the archive, the newest first", roster::audit),
    Route { right: Some(Operate), ..get("/api/v1/slow", "The requests of the last day that took longest", slow::list) },
    Route {
        right: Some(Operate),
        ..get("/api/v1/upkeep", "How long what is kept, what goes next, and the last backups", upkeep::show)
    },
    get("/api/v1/cluster", "The nodes that record together, and what each has", cluster::show),
    post(
        "/api/v1/cluster/shards/{shard}/move",
        Administer,
        "Let a node take a shard, whoever has it",
        cluster::move_shard,
    ),
    post("/api/v1/cluster/nodes/{node}/drain", Administer, "Let a node have no shards", cluster::drain),
    post("/api/v1/cluster/nodes/{node}/join", Administer, "Let a node have its share again", cluster::join),
    delete("/api/v1/cluster/nodes/{node}", "Reckon no longer with a node that is gone for good", cluster::forget),
    post("/api/v1/cluster/raise", Administer, "Write what all nodes read by now", cluster::raise),
    get("/api/v1/live", "New samples and changes of state as Server-Sent Events", live::show),
    // Who asks, and what they may do.
    open(Method::Get, "/api/v1/me", "Who one is, and what one may do", login::me),
    open(Method::Post, "/api/v1/login", "Log in by a name and a password", login::by_password),
    open(Method::Get, "/api/v1/login/oidc", "To the OpenID provider, to log in", login::to_provider),
    open(Method::Get, "/api/v1/login/callback", "Back from the OpenID provider", login::from_provider),
    open(Method::Post, "/api/v1/login/backchannel", "The OpenID provider ends sessions", login::out_by_provider),
    open(Method::Post, "/api/v1/logout", "End one's session", login::out),
    get("/api/v1/access/explain", "Why somebody may do something, or not", explain::show),
    Route { right: Some(Administer), ..get("/api/v1/tokens", "Tokens of programs", tokens::list) },
    post("/api/v1/tokens", Administer, "Make a token", tokens::add),
    delete("/api/v1/tokens/{id}", "Revoke a token", tokens::revoke),
    open(Method::Get, "/login", "The web page, to log in", ui::index),
    open(Method::Get, "/manage", "The web page, to run the archiver", ui::index),
    get("/v/{number}", "To what a saved view shows", memos::follow),
    get("/api/v1/openapi.json", "The description of all of this", openapi),
    // The URLs of the Archiver Appliance.
    get("/retrieval/data/{*call}", "Samples as the Archiver Appliance gives them", retrieval::get_data),
    post(
        "/retrieval/data/{*call}",
        Read,
        "Values at one moment (getDataAtTime) or samples (getDataForPVs) of many PVs",
        retrieval::post_data,
    ),
    get(
        "/retrieval/bpl/searchForPVsRegex",
        "Names that a regular expression fits, a line each",
        search::search_for_pvs_regex,
    ),
    get("/retrieval/bpl/getMatchingPVs", "Names that a glob or regular expression fits", search::matching_pvs),
    get("/retrieval/bpl/getVersion", "The version", search::version),
    get("/engine/bpl/getVersion", "The version", search::version),
    get("/etl/bpl/getVersion", "The version", search::version),
    get("/retrieval/bpl/getMetadata", "Type, settings and fields of a PV", details::all_metadata),
    get("/retrieval/bpl/areWeArchivingPV", "Whether a PV is archived", details::is_archived),
    get("/retrieval/ping", "Whether anybody is there", search::ping),
    get("/mgmt/bpl/ping", "Whether anybody is there", search::pong),
    get("/mgmt/bpl/startupState", "Whether requests are taken", engine::startup_state),
    get("/engine/bpl/ping", "Whether anybody is there", search::pong),
    get("/engine/bpl/startupState", "Whether requests are taken", engine::startup_state),
    get("/etl/bpl/ping", "Whether anybody is there", search::pong),
    get("/etl/bpl/startupState", "Whether requests are taken", engine::startup_state),
    get("/retrieval/bpl/ping", "Whether anybody is there", search::pong),
    get("/retrieval/bpl/startupState", "Whether requests are taken", engine::startup_state),
    get("/mgmt/bpl/getAllPVs", "All names, or those that fit", search::matching_pvs),
    get("/mgmt/bpl/getMatchingPVsForThisAppliance", "All names, or those that fit", search::matching_pvs),
    get("/mgmt/bpl/getPVStatus", "How PVs fare", appliance_status::show),
    post("/mgmt/bpl/getPVStatus", Read, "How PVs fare", appliance_status::show),
    command("/mgmt/bpl/archivePV", Operate, "Archive PVs", manage::archive),
    post("/mgmt/bpl/archivePV", Operate, "Archive PVs", manage::archive),
    command("/mgmt/bpl/pauseArchivingPV", Operate, "Stop taking samples of PVs", manage::pause),
    post("/mgmt/bpl/pauseArchivingPV", Operate, "Stop taking samples of PVs", manage::pause),
    command("/mgmt/bpl/resumeArchivingPV", Operate, "Take samples of PVs again", manage::resume),
    post("/mgmt/bpl/resumeArchivingPV", Operate, "Take samples of PVs again", manage::resume),
    command("/mgmt/bpl/deletePV", Administer, "Take paused PVs out of the archive", manage::delete),
    post("/mgmt/bpl/deletePV", Administer, "Take paused PVs out of the archive", manage::delete),
    command("/mgmt/bpl/abortArchivingPV", Administer, "Take out a PV that never answered", manage::abort),
    command(
        "/mgmt/bpl/abortArchivingPVForThisAppliance",
        Administer,
        "Take out a PV that never answered",
        manage::abort,
    ),
    command("/mgmt/bpl/changeArchivalParameters", Operate, "Archive a PV in another way", manage::change),
    get("/mgmt/bpl/getPVTypeInfo", "Type and settings of a PV", details::type_info),
    get("/mgmt/bpl/getPVDetails", "What is known about a PV, row by row", details::details),
    get("/mgmt/bpl/getStoresForPV", "Where the samples of a PV are", details::stores),
    get("/mgmt/bpl/getAllExpandedPVNames", "All names, with and without .VAL", reports::expanded_names),
    get("/mgmt/bpl/getPausedPVsReport", "PVs that are paused", reports::paused),
    get("/mgmt/bpl/getNeverConnectedPVs", "PVs for which no IOC has ever answered", reports::never_connected),
    get(
        "/mgmt/bpl/getNeverConnectedPVsForThisAppliance",
        "PVs for which no IOC has ever answered",
        reports::never_connected,
    ),
    get("/mgmt/bpl/getCurrentlyDisconnectedPVs", "PVs whose connection is lost", reports::disconnected),
    get(
        "/engine/bpl/getCurrentlyDisconnectedPVsForThisAppliance",
        "PVs whose connection is lost",
        reports::disconnected,
    ),
    get("/mgmt/bpl/getRecentlyAddedPVs", "PVs by age, the newest first", reports::recently_added),
    get("/mgmt/bpl/getRecentlyAddedPVsForThisInstance", "PVs by age, the newest first", reports::recently_added),
    get("/mgmt/bpl/getAllAliases", "All aliases with their PVs", aliases::all),
    command("/mgmt/bpl/addAlias", Administer, "Give a PV one more name", aliases::add),
    command("/mgmt/bpl/removeAlias", Administer, "Take one of its other names from a PV", aliases::remove),
    command("/mgmt/bpl/renamePV", Administer, "Give a paused PV another name", aliases::rename),
    get("/mgmt/bpl/getVersions", "The version, once for each part of the Archiver Appliance", manage::versions),
    get("/mgmt/bpl/getApplianceInfo", "Where the parts of the Archiver Appliance would be", manage::appliance_info),
    get("/mgmt/bpl/getAppliancesInCluster", "The members of the cluster, which is one", manage::appliances),
    post("/retrieval/bpl/filterArchivedPVs", Read, "Those of the given names that are archived", search::archived),
    post("/mgmt/bpl/archivedPVs", Read, "Those of the given names that are archived", search::archived),
    post("/mgmt/bpl/unarchivedPVs", Read, "Those of the given names that are not archived", search::unarchived),
    post("/mgmt/bpl/archivedPVsNotInList", Read, "PVs that are not in a list", search::archived_not_in_list),
    get("/mgmt/bpl/getTypeInfoKeys", "The names of all PVs, without aliases", reports::own_names),
    get("/mgmt/bpl/getPVsForThisAppliance", "The names of all PVs, without aliases", reports::own_names),
    get("/mgmt/bpl/getPausedPVsForThisAppliance", "The names of the PVs that are paused", reports::paused_names),
    get("/mgmt/bpl/exportConfig", "Type and settings of all PVs", configuration::export),
    get("/mgmt/bpl/exportConfigForAppliance", "Type and settings of all PVs", configuration::export),
    post("/mgmt/bpl/importConfig", Operate, "Archive the PVs of an export", configuration::import),
    post("/mgmt/bpl/importConfigForAppliance", Operate, "Archive the PVs of an export", configuration::import_here),
    post("/mgmt/bpl/putPVTypeInfo", Operate, "Set how a PV is archived", configuration::put_type_info),
    command("/mgmt/bpl/consolidateDataForPV", Operate, "Nothing, samples are in one place", configuration::consolidate),
    get("/mgmt/bpl/getRecentlyModifiedPVs", "PVs by their last change, the newest first", reports::recently_modified),
    get(
        "/mgmt/bpl/getRecentlyModifiedPVsForThisInstance",
        "PVs by their last change, the newest first",
        reports::recently_modified,
    ),
    get("/mgmt/bpl/getEventRateReport", "PVs by samples a second", rates::event_rates),
    get("/mgmt/bpl/getStorageRateReport", "PVs by bytes a day", rates::storage_rates),
    get("/mgmt/bpl/getPVsByStorageConsumed", "PVs by their bytes", rates::storage_consumed),
    get("/mgmt/bpl/getLostConnectionsReport", "PVs by lost connections", losses::lost_connections),
    get("/mgmt/bpl/getSilentPVsReport", "PVs by how long they have been silent", losses::silent),
    get("/mgmt/bpl/getPVsByDroppedEventsBuffer", "PVs by samples lost for want of room", losses::dropped_for_room),
    get("/mgmt/bpl/getPVsByDroppedEventsTimestamp", "Nobody: no stamp costs a sample", losses::dropped_never),
    get("/mgmt/bpl/getPVsByDroppedEventsTypeChange", "Nobody: no type costs a sample", losses::dropped_never),
    get("/mgmt/bpl/getSlowChangingPVsWithDroppedEvents", "Nobody: slow PVs lose nothing", losses::dropped_never),
    get("/mgmt/bpl/getPVsByScanCopyTime", "Nobody: there are no scan buffers", losses::dropped_never),
    get("/mgmt/bpl/getPVsByMaxTimeBetweenScans", "Nobody: there are no scan buffers", losses::dropped_never),
    get("/engine/bpl/getEventRateReport", "PVs by samples a second", rates::event_rates),
    get("/engine/bpl/getStorageRateReport", "PVs by bytes a day", rates::storage_rates),
    get("/engine/bpl/getLostConnectionsReport", "PVs by lost connections", losses::lost_connections),
    get("/engine/bpl/getSilentPVsReport", "PVs by how long they have been silent", losses::silent),
    get("/engine/bpl/getPVsByDroppedEventsBuffer", "PVs by samples lost for want of room", losses::dropped_for_room),
    get("/engine/bpl/getPVsByDroppedEventsTimestamp", "Nobody: no stamp costs a sample", losses::dropped_never),
    get("/engine/bpl/getPVsByDroppedEventsTypeChange", "Nobody: no type costs a sample", losses::dropped_never),
    get("/engine/bpl/getArchivedWaveforms", "PVs whose values are arrays", reports::waveforms),
    get("/mgmt/bpl/getArchivedWaveforms", "PVs whose values are arrays", reports::waveforms),
    get("/mgmt/bpl/getTimeSpanReport", "When PVs were added and last heard of", reports::time_spans),
    get("/mgmt/bpl/getCreationReportForAppliance", "When PVs were added", reports::creations),
    get("/mgmt/bpl/getInstanceMetrics", "How much comes", measures::instances),
    get("/mgmt/bpl/getApplianceMetrics", "How much comes", measures::instances),
    get("/mgmt/bpl/getInstanceMetricsForAppliance", "How much comes, row by row", measures::of_instance),
    get("/mgmt/bpl/getApplianceMetricsForAppliance", "How much comes, row by row", measures::of_instance),
    get("/engine/bpl/getInstanceMetricsForAppliance", "How much comes, row by row", measures::of_instance),
    get("/engine/bpl/getApplianceMetricsForAppliance", "How much comes, row by row", measures::of_instance),
    get("/etl/bpl/getInstanceMetricsForAppliance", "How much comes, row by row", measures::of_instance),
    get("/etl/bpl/getApplianceMetricsForAppliance", "How much comes, row by row", measures::of_instance),
    get("/retrieval/bpl/getInstanceMetricsForAppliance", "How much comes, row by row", measures::of_instance),
    get("/retrieval/bpl/getApplianceMetricsForAppliance", "How much comes, row by row", measures::of_instance),
    get("/mgmt/bpl/getAggregatedApplianceInfo", "How much comes, in all", measures::aggregated),
    get("/mgmt/bpl/getStorageMetrics", "How much each place of the archive holds", measures::storage),
    get("/mgmt/bpl/getStorageMetricsForAppliance", "How much each place holds", measures::storage_of_instance),
    get("/mgmt/bpl/getApplianceProperties", "What clients may ask for", engine::properties),
    get("/mgmt/bpl/webAppReady", "Whether requests are taken", engine::ready),
    get("/engine/bpl/getMetadata", "The newest fields of a PV", engine::fields),
    get("/engine/bpl/status", "How PVs fare", appliance_status::show),
    post("/engine/bpl/status", Read, "How PVs fare", appliance_status::show),
    post("/engine/bpl/getDataAtTime", Read, "Values of many PVs at one moment", retrieval::data_at_time),
    get("/engine/bpl/getLastKnownTimeStampReport", "When PVs were last heard of", reports::last_stamps),
    get("/engine/bpl/getConnectedPVCountForAppliance", "How many PVs are connected", measures::connected),
    get("/engine/bpl/listAllChannels", "The names of the PVs that are not paused", engine::channels),
    get("/etl/bpl/getLastKnownEvent", "When the newest sample of a PV was", engine::last_known),
    command("/etl/bpl/consolidateDataForPV", Operate, "Nothing, samples are in one place", configuration::consolidate),
    get("/etl/bpl/getPVsByStorageConsumed", "PVs by their bytes", rates::storage_consumed),
    get("/etl/bpl/getStorageMetricsForAppliance", "How much each place holds", measures::storage_of_instance),
    get("/retrieval/bpl/getPVDetails", "What is known about a PV, row by row", details::details),
    get("/engine/bpl/getPVDetails", "What is known about a PV, row by row", details::details),
    get("/etl/bpl/getPVDetails", "What is known about a PV, row by row", details::details),
    get("/mgmt/bpl/getPolicyList", "The policies by which PVs are archived", rules::list),
    get("/mgmt/bpl/getPolicyText", "The policies as text", rules::text),
    get("/mgmt/bpl/getNamedFlag", "Whether a flag is set", flags::show),
    get("/mgmt/bpl/getAllNamedFlags", "All flags that were set", flags::all),
    command("/mgmt/bpl/setNamedFlag", Operate, "Set a flag until the program ends", flags::set),
    command("/mgmt/bpl/modifyMetaFields", Operate, "Archive other fields of a PV with it", changes::fields),
    command(
        "/mgmt/bpl/appendAndAliasPV",
        Administer,
        "Put the samples of one PV to those of another, whose alias it becomes",
        changes::append,
    ),
    command(
        "/mgmt/bpl/skipAliasCheck",
        Operate,
        "Nothing, names are taken as they are given",
        changes::skip_alias_check,
    ),
    command("/mgmt/bpl/changeTypeForPV", Operate, "Nothing, a PV may change its type", changes::change_type),
    command("/mgmt/bpl/resetFailoverCaches", Operate, "Nothing, there are none", changes::reset_failover),
    command("/mgmt/bpl/modifyStoreURLForPV", Operate, "A refusal, there is one store", changes::move_store),
    command("/mgmt/bpl/changeStore", Operate, "A refusal, there is one store", changes::move_store),
    command("/mgmt/bpl/reshardPV", Operate, "A refusal, there is one member", changes::move_member),
    command("/mgmt/bpl/reassignAppliance", Operate, "A refusal, there is one member", changes::move_member),
    post("/mgmt/bpl/reassignAppliance", Operate, "A refusal, there is one member", changes::move_members),
    command("/mgmt/bpl/mergeInData", Operate, "A refusal, there is one member", changes::move_member),
    get("/mgmt/bpl/getMetaGets", "Nobody: PVs are archived at once", changes::none),
    get("/engine/bpl/getMetaGetsForThisAppliance", "Nobody: PVs are archived at once", changes::none),
    get("/mgmt/bpl/getExternalArchiverServers", "None: no other archiver is asked", changes::none),
    get("/mgmt/bpl/getProcessMetrics", "How busy the machine is", measures::process),
    get("/mgmt/bpl/getProcessMetricsDataForAppliance", "How busy the machine is, for a chart", measures::process_chart),
    get("/retrieval/bpl/getProcessMetrics", "How busy the machine is", measures::process),
    get("/engine/bpl/getProcessMetrics", "How busy the machine is", measures::process),
    get("/etl/bpl/getProcessMetrics", "How busy the machine is", measures::process),
    get("/mgmt/ui", "To the web page", ui::instead),
    get("/mgmt/ui/{*page}", "To the web page", ui::instead),
    get("/retrieval/ui/{*page}", "To the web page", ui::instead),
    // For monitoring, and for people.
    get("/metrics", "Counters in the OpenMetrics text format", metrics),
    open(Method::Get, "/", "The web page", ui::show),
];

/// What a request needs, by the table: a method, or the name of a right, and a URL or the name of a PV.
pub fn needed_for(method: &str, what: &str) -> Result<Needed, String> {
    Needed::by(ROUTES.iter().map(|route| (route.method, route.path, route.right)), method, what)
}

/// What every URL takes and gives.
pub(crate) const DESCRIPTION: &str = include_str!("../../../testdata/openapi.json");

/// `GET /api/v1/openapi.json`
fn metrics(call: &Call) -> Answer {
    Ok(whole(metrics::CONTENT_TYPE, metrics::page(&call.app.metrics, &call.ask, &call.app.doors)?))
}

fn openapi(_: &Call) -> Answer {
    let mut answer = whole(JSON, DESCRIPTION);
    answer.extensions_mut().insert(OfProgram);
    Ok(answer)
}

/// What a browser sends must come from a page of ours if it is to do more than read; logging in and out is more.
pub(crate) fn refuse_cross_site(request: &Parts, route: &Route) -> Result<(), Refusal> {
    let reads = match route.right {
        Some(right) => right == Read,
        None => route.method == Method::Get,
    };
    if reads { Ok(()) } else { browser::may_change(&request.headers, request.extensions.get::<Authority>()) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// testdata/openapi.json and the table say the same, in both directions.
    #[test]
    fn every_url_is_described_and_nothing_else() {
        let description: serde_json::Value = serde_json::from_str(DESCRIPTION).unwrap();
        let described: BTreeSet<String> = description["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, operations)| operations.as_object().unwrap().keys().map(move |m| format!("{m} {path}")))
            .collect();
        // A part that may hold slashes is described like all others.
        let path = |route: &Route| route.path.replace("{*", "{");
        let table: BTreeSet<String> =
            ROUTES.iter().map(|route| format!("{} {}", lower_case(route.method), path(route))).collect();
        assert_eq!(described, table);
        for route in ROUTES {
            let operation = &description["paths"][path(route)][lower_case(route.method)];
            assert_eq!(operation["summary"], route.summary, "{}", route.path);
            let right = route.right.map_or("None".to_owned(), |right| format!("{right:?}"));
            assert_eq!(operation["x-right"], right, "{}", route.path);
            for name in path(route).split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                assert!(operation["parameters"].to_string().contains(name), "{}: {name}", route.path);
            }
        }
    }

    #[test]
    fn what_a_request_needs_stands_in_the_table() {
        let needed = |right, pvs: &[&str]| Ok(Needed { right, pvs: pvs.iter().map(|&pv| pv.to_owned()).collect() });
        let (read, operate, administer) = (Some(Right::Read), Some(Right::Operate), Some(Right::Administer));
        for (method, what, expected) in [
            ("GET", "/api/v1/pvs/SR%3AA/samples?from=-1h", needed(read, &["SR:A"])),
            ("HEAD", "/api/v1/pvs", needed(read, &[])),
            ("POST", "http://archiver:17665/api/v1/pvs/A/pause", needed(operate, &["A"])),
            ("DELETE", "/api/v1/pvs/A/aliases/B", needed(administer, &["A", "B"])),
            ("get", "/mgmt/bpl/pauseArchivingPV?pv=A,B", needed(operate, &["A", "B"])),
            ("GET", "/retrieval/data/getData.json?pv=A", needed(read, &["A"])),
            ("GET", "//api/v1/../v1/status", needed(read, &[])),
            ("GET", "/api/v1/me", needed(None, &[])),
            ("operate", "SR:A", needed(operate, &["SR:A"])),
            ("GET", "SR:A", needed(read, &["SR:A"])),
        ] {
            assert_eq!(needed_for(method, what), expected, "{method} {what}");
        }
        for (method, what) in [("PATCH", "/api/v1/pvs"), ("GET", "/nothing"), ("DELETE", "/api/v1/pvs"), ("eat", "A")] {
            assert!(needed_for(method, what).is_err(), "{method} {what}");
        }
    }

    fn lower_case(method: Method) -> String {
        format!("{method:?}").to_ascii_lowercase()
    }

    /// docs/compatibility.md promises what the table of routes, the formats and the operators hold, and all of it.
    #[test]
    fn the_table_of_compatibility_says_what_is_served() {
        let text = include_str!("../../../docs/compatibility.md");
        let mut promised = BTreeSet::new();
        let mut rows = 0;
        for line in text.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let is_served = match cells[2] {
                "same" | "better" => true,
                "not yet" | "not meant for us" => false,
                other => panic!("{other:?} is no verdict: {line}"),
            };
            for name in cells[1].split(", ").map(|name| name.trim_matches('`')) {
                let (path, is_there) = served(name);
                assert_eq!(is_there, is_served, "{name}");
                promised.extend(path.filter(|_| is_served));
                rows += 1;
            }
        }
        assert!(rows > 80, "only {rows} names were looked at");
        for route in ROUTES.iter().filter(|route| is_of_appliance(route.path)) {
            assert!(promised.contains(route.path), "{} does not stand in the table", route.path);
        }
    }

    fn is_of_appliance(path: &str) -> bool {
        ["/retrieval", "/mgmt", "/engine", "/etl"].iter().any(|part| path.starts_with(part))
    }

    /// The route of a URL of the Appliance, and whether it or the operator of that name is served.
    fn served(name: &str) -> (Option<&'static str>, bool) {
        if !name.starts_with('/') {
            return (None, query::Operator::parse(&format!("{name}_60"), &[]).is_ok());
        }
        let call = name.strip_prefix("/retrieval/data/");
        let path = if call.is_some() { "/retrieval/data/{*call}" } else { name };
        let route = ROUTES.iter().find(|route| route.path == path).map(|route| route.path);
        (route, route.is_some() && call.is_none_or(retrieval::is_known))
    }
}
