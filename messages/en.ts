import account from './en/account.json' with { type: 'json' }
import agents from './en/agents.json' with { type: 'json' }
import claim from './en/claim.json' with { type: 'json' }
import common from './en/common.json' with { type: 'json' }
import confirm from './en/confirm.json' with { type: 'json' }
import erasure from './en/erasure.json' with { type: 'json' }
import failed from './en/failed.json' with { type: 'json' }
import frame from './en/frame.json' with { type: 'json' }
import home from './en/home.json' with { type: 'json' }
import meta from './en/meta.json' with { type: 'json' }
import notFound from './en/not-found.json' with { type: 'json' }
import password from './en/password.json' with { type: 'json' }
import privacy from './en/privacy.json' with { type: 'json' }
import problems from './en/problems.json' with { type: 'json' }
import receipt from './en/receipt.json' with { type: 'json' }
import reference from './en/reference.json' with { type: 'json' }
import sessions from './en/sessions.json' with { type: 'json' }
import signIn from './en/sign-in.json' with { type: 'json' }

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
