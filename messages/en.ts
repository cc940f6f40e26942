import account from './en/account.json' with { type: 'json' }
import acts from './en/acts.json' with { type: 'json' }
import adminRequest from './en/admin-request.json' with { type: 'json' }
import agentDocuments from './en/agent-documents.json' with { type: 'json' }
import agentGrimoire from './en/agent-grimoire.json' with { type: 'json' }
import agentRecords from './en/agent-records.json' with { type: 'json' }
import agentSharing from './en/agent-sharing.json' with { type: 'json' }
import agentSnapshots from './en/agent-snapshots.json' with { type: 'json' }
import agents from './en/agents.json' with { type: 'json' }
import approvals from './en/approvals.json' with { type: 'json' }
import audit from './en/audit.json' with { type: 'json' }
import causes from './en/causes.json' with { type: 'json' }
import claim from './en/claim.json' with { type: 'json' }
import common from './en/common.json' with { type: 'json' }
import compliance from './en/compliance.json' with { type: 'json' }
import confirm from './en/confirm.json' with { type: 'json' }
import dataNames from './en/data-names.json' with { type: 'json' }
import deletion from './en/deletion.json' with { type: 'json' }
import deletionLog from './en/deletion-log.json' with { type: 'json' }
import emails from './en/emails.json' with { type: 'json' }
import erasure from './en/erasure.json' with { type: 'json' }
import erasurePlaces from './en/erasure-places.json' with { type: 'json' }
import erasures from './en/erasures.json' with { type: 'json' }
import exportWords from './en/exports.json' with { type: 'json' }
import failed from './en/failed.json' with { type: 'json' }
import filing from './en/filing.json' with { type: 'json' }
import formSettings from './en/form-settings.json' with { type: 'json' }
import frame from './en/frame.json' with { type: 'json' }
import holds from './en/holds.json' with { type: 'json' }
import home from './en/home.json' with { type: 'json' }
import inventory from './en/inventory.json' with { type: 'json' }
import invitation from './en/invitation.json' with { type: 'json' }
import knowledge from './en/knowledge.json' with { type: 'json' }
import members from './en/members.json' with { type: 'json' }
import meta from './en/meta.json' with { type: 'json' }
import myPrivacy from './en/my-privacy.json' with { type: 'json' }
import notFound from './en/not-found.json' with { type: 'json' }
import outbox from './en/outbox.json' with { type: 'json' }
import overview from './en/overview.json' with { type: 'json' }
import pages from './en/pages.json' with { type: 'json' }
import participants from './en/participants.json' with { type: 'json' }
import password from './en/password.json' with { type: 'json' }
import person from './en/person.json' with { type: 'json' }
import privacy from './en/privacy.json' with { type: 'json' }
import problems from './en/problems.json' with { type: 'json' }
import projects from './en/projects.json' with { type: 'json' }
import queue from './en/queue.json' with { type: 'json' }
import receipt from './en/receipt.json' with { type: 'json' }
import reference from './en/reference.json' with { type: 'json' }
import report from './en/report.json' with { type: 'json' }
import requestForm from './en/request-form.json' with { type: 'json' }
import requestNames from './en/request-names.json' with { type: 'json' }
import requests from './en/requests.json' with { type: 'json' }
import retention from './en/retention.json' with { type: 'json' }
import roles from './en/roles.json' with { type: 'json' }
import safety from './en/safety.json' with { type: 'json' }
import secondFactors from './en/second-factors.json' with { type: 'json' }
import security from './en/security.json' with { type: 'json' }
import sensitiveKinds from './en/sensitive-kinds.json' with { type: 'json' }
import sessions from './en/sessions.json' with { type: 'json' }
import signIn from './en/sign-in.json' with { type: 'json' }
import storage from './en/storage.json' with { type: 'json' }
import storeProgress from './en/store-progress.json' with { type: 'json' }
import storeSearch from './en/store-search.json' with { type: 'json' }
import stores from './en/stores.json' with { type: 'json' }
import telemetry from './en/telemetry.json' with { type: 'json' }
import tiers from './en/tiers.json' with { type: 'json' }
import timeline from './en/timeline.json' with { type: 'json' }
import tokens from './en/tokens.json' with { type: 'json' }
import users from './en/users.json' with { type: 'json' }
import verify from './en/verify.json' with { type: 'json' }
import welcome from './en/welcome.json' with { type: 'json' }

export default {
  account,
  acts,
  adminRequest,
  agentDocuments,
  agentGrimoire,
  agentRecords,
  agentSharing,
  agentSnapshots,
  agents,
  approvals,
  audit,
  causes,
  claim,
  common,
  compliance,
  confirm,
  dataNames,
  formSettings,
  deletion,
  deletionLog,
  emails,
  erasure,
  erasurePlaces,
  erasures,
  exports: exportWords,
  failed,
  filing,
  frame,
  holds,
  home,
  inventory,
  knowledge,
  invitation,
  members,
  meta,
  myPrivacy,
  notFound,
  outbox,
  overview,
  pages,
  participants,
  password,
  person,
  privacy,
  problems,
  projects,
  queue,
  receipt,
  reference,
  report,
  requestForm,
  requestNames,
  requests,
  retention,
  roles,
  safety,
  secondFactors,
  security,
  sensitiveKinds,
  sessions,
  signIn,
  storeProgress,
  storage,
  storeSearch,
  stores,
  telemetry,
  tiers,
  timeline,
  tokens,
  users,
  verify,
  welcome,
}
