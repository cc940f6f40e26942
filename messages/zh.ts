import account from './zh/account.json' with { type: 'json' }
import agents from './zh/agents.json' with { type: 'json' }
import claim from './zh/claim.json' with { type: 'json' }
import common from './zh/common.json' with { type: 'json' }
import confirm from './zh/confirm.json' with { type: 'json' }
import erasure from './zh/erasure.json' with { type: 'json' }
import failed from './zh/failed.json' with { type: 'json' }
import frame from './zh/frame.json' with { type: 'json' }
import home from './zh/home.json' with { type: 'json' }
import meta from './zh/meta.json' with { type: 'json' }
import notFound from './zh/not-found.json' with { type: 'json' }
import password from './zh/password.json' with { type: 'json' }
import privacy from './zh/privacy.json' with { type: 'json' }
import problems from './zh/problems.json' with { type: 'json' }
import receipt from './zh/receipt.json' with { type: 'json' }
import reference from './zh/reference.json' with { type: 'json' }
import sessions from './zh/sessions.json' with { type: 'json' }
import signIn from './zh/sign-in.json' with { type: 'json' }

export default {
  account,
  agents,
  claim,
  common,
  confirm,
  erasure,
  failed,
  frame,
  home,
  meta,
  notFound,
  password,
  privacy,
  problems,
  receipt,
  reference,
  sessions,
  signIn,
}
