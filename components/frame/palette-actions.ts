import type { Role } from '#lib/domains/accounts/rules.ts'
import { downloadsHref } from './navigation.ts'

const paletteActions = [
  { name: 'createToken', href: '/tokens#create' },
  { name: 'revokeToken', href: '/tokens' },
  { name: 'revokeAnyToken', href: '/admin/tokens', roles: ['admin'] },
  { name: 'exportAudit', href: '/admin/audit', roles: ['admin', 'auditor'] },
  { name: 'newRequest', href: '/settings/privacy/requests' },
  { name: 'claimAgent', href: '/agents#claim' },
  { name: 'createProject', href: '/projects#create' },
  { name: 'downloadData', href: downloadsHref },
  { name: 'deleteData', href: '/settings/privacy/delete' },
  { name: 'verifyReceipt', href: '/verify' },
  { name: 'changePassword', href: '/account/password' },
  { name: 'inviteMember', href: '/members#invite', roles: ['manager'] },
  { name: 'fileRequest', href: '/admin/requests/new', roles: ['admin'] },
  { name: 'setHold', href: '/admin/holds#new', roles: ['admin'] },
  { name: 'inviteUser', href: '/admin/users#invite', roles: ['admin'] },
  { name: 'previewRetention', href: '/admin/retention#preview', roles: ['admin'] },
] as const satisfies readonly { name: string; href: string; roles?: readonly Role[] }[]

/** The actions in the command palette for a role. */
export const actionsOf = (role: Role) =>
  paletteActions.filter((action) => !('roles' in action) || action.roles.some((one) => one === role))
