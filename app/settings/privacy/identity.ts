import type { PasswordIdentity } from '#components/privacy/identity-field.tsx'
import type { AccountView } from '#lib/domains/accounts/contract.ts'

/** How the person confirms their identity: by password, unless they sign in with an identity provider and have none. */
export const identityOf = (person: AccountView): PasswordIdentity => ({
  email: person.email,
  hasPassword: !('has_password' in person) || person.has_password !== false,
})
