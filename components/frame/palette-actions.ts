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
  { name: 'answerRequest', href: '/admin/requests', roles: ['admin'] },
  { name: 'editForm', href: '/admin/requests/form', roles: ['admin'] },
  { name: 'retryDeletion', href: '/admin/erasures', roles: ['admin'] },
  { name: 'exportDeletionLog', href: '/admin/deletion-log', roles: ['admin', 'auditor'] },
  { name: 'changeRetention', href: '/admin/retention', roles: ['admin'] },
  { name: 'runSweep', href: '/admin/retention', roles: ['admin'] },
  { name: 'assignPrefixes', href: '/admin/stores', roles: ['admin'] },
  { name: 'findPerson', href: '/admin/stores/search', roles: ['admin'] },
  { name: 'changeLimits', href: '/admin/tokens', roles: ['admin'] },
  { name: 'changeRole', href: '/admin/users', roles: ['admin'] },
  { name: 'closeAccount', href: '/admin/users', roles: ['admin'] },
  { name: 'sendReset', href: '/admin/users', roles: ['admin'] },
  { name: 'requireFactors', href: '/admin/security', roles: ['admin'] },
  { name: 'decideApproval', href: '/admin/approvals', roles: ['admin'] },
  { name: 'requireApprovals', href: '/admin/approvals#setting', roles: ['admin'] },
  { name: 'releaseHold', href: '/admin/holds', roles: ['admin'] },
  { name: 'reviewHeld', href: '/admin/safety', roles: ['admin'] },
  { name: 'testScanner', href: '/admin/safety?view=scanner', roles: ['admin'] },
  { name: 'downloadAttestation', href: '/admin/compliance', roles: ['admin', 'auditor'] },
  { name: 'downloadReport', href: '/admin/report', roles: ['admin', 'auditor'] },
  { name: 'forwardEmail', href: '/admin/outbox', roles: ['admin'] },
  { name: 'sendTestEmail', href: '/overview', roles: ['admin'] },
] as const satisfies readonly { name: string; href: string; roles?: readonly Role[] }[]

/** The actions in the command palette for a role. */
export const actionsOf = (role: Role) =>
  paletteActions.filter((action) => !('roles' in action) || action.roles.some((one) => one === role))
