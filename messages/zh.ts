import account from './zh/account.json' with { type: 'json' }
import acts from './zh/acts.json' with { type: 'json' }
import adminRequest from './zh/admin-request.json' with { type: 'json' }
import agentDocuments from './zh/agent-documents.json' with { type: 'json' }
import agentGrimoire from './zh/agent-grimoire.json' with { type: 'json' }
import agentRecords from './zh/agent-records.json' with { type: 'json' }
import agentSharing from './zh/agent-sharing.json' with { type: 'json' }
import agentSnapshots from './zh/agent-snapshots.json' with { type: 'json' }
import agents from './zh/agents.json' with { type: 'json' }
import approvals from './zh/approvals.json' with { type: 'json' }
import audit from './zh/audit.json' with { type: 'json' }
import causes from './zh/causes.json' with { type: 'json' }
import claim from './zh/claim.json' with { type: 'json' }
import common from './zh/common.json' with { type: 'json' }
import compliance from './zh/compliance.json' with { type: 'json' }
import confirm from './zh/confirm.json' with { type: 'json' }
import dataNames from './zh/data-names.json' with { type: 'json' }
import deletion from './zh/deletion.json' with { type: 'json' }
import deletionLog from './zh/deletion-log.json' with { type: 'json' }
import emails from './zh/emails.json' with { type: 'json' }
import erasure from './zh/erasure.json' with { type: 'json' }
import erasurePlaces from './zh/erasure-places.json' with { type: 'json' }
import erasures from './zh/erasures.json' with { type: 'json' }
import exportWords from './zh/exports.json' with { type: 'json' }
import failed from './zh/failed.json' with { type: 'json' }
import filing from './zh/filing.json' with { type: 'json' }
import formSettings from './zh/form-settings.json' with { type: 'json' }
import frame from './zh/frame.json' with { type: 'json' }
import holds from './zh/holds.json' with { type: 'json' }
import home from './zh/home.json' with { type: 'json' }
import inventory from './zh/inventory.json' with { type: 'json' }
import invitation from './zh/invitation.json' with { type: 'json' }
import knowledge from './zh/knowledge.json' with { type: 'json' }
import members from './zh/members.json' with { type: 'json' }
import meta from './zh/meta.json' with { type: 'json' }
import myPrivacy from './zh/my-privacy.json' with { type: 'json' }
import notFound from './zh/not-found.json' with { type: 'json' }
import outbox from './zh/outbox.json' with { type: 'json' }
import overview from './zh/overview.json' with { type: 'json' }
import pages from './zh/pages.json' with { type: 'json' }
import participants from './zh/participants.json' with { type: 'json' }
import password from './zh/password.json' with { type: 'json' }
import person from './zh/person.json' with { type: 'json' }
import privacy from './zh/privacy.json' with { type: 'json' }
import problems from './zh/problems.json' with { type: 'json' }
import projects from './zh/projects.json' with { type: 'json' }
import queue from './zh/queue.json' with { type: 'json' }
import receipt from './zh/receipt.json' with { type: 'json' }
import reference from './zh/reference.json' with { type: 'json' }
import report from './zh/report.json' with { type: 'json' }
import requestForm from './zh/request-form.json' with { type: 'json' }
import requestNames from './zh/request-names.json' with { type: 'json' }
import requests from './zh/requests.json' with { type: 'json' }
import retention from './zh/retention.json' with { type: 'json' }
import roles from './zh/roles.json' with { type: 'json' }
import safety from './zh/safety.json' with { type: 'json' }
import secondFactors from './zh/second-factors.json' with { type: 'json' }
import security from './zh/security.json' with { type: 'json' }
import sensitiveKinds from './zh/sensitive-kinds.json' with { type: 'json' }
import sessions from './zh/sessions.json' with { type: 'json' }
import signIn from './zh/sign-in.json' with { type: 'json' }
import storage from './zh/storage.json' with { type: 'json' }
import storeProgress from './zh/store-progress.json' with { type: 'json' }
import storeSearch from './zh/store-search.json' with { type: 'json' }
import stores from './zh/stores.json' with { type: 'json' }
import telemetry from './zh/telemetry.json' with { type: 'json' }
import tiers from './zh/tiers.json' with { type: 'json' }
import timeline from './zh/timeline.json' with { type: 'json' }
import tokens from './zh/tokens.json' with { type: 'json' }
import users from './zh/users.json' with { type: 'json' }
import verify from './zh/verify.json' with { type: 'json' }
import welcome from './zh/welcome.json' with { type: 'json' }

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
