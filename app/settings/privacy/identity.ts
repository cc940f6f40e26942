import type { Identity } from '#components/privacy/identity-field.tsx'
import type { AccountView } from '#lib/domains/accounts/contract.ts'

/** How somebody shows again who they are: by their password, unless they have none and sign in elsewhere. */
export const identityOf = (person: AccountView): Identity => ({
  email: person.email,
  hasPassword: !('has_password' in person) || person.has_password !== false,
})
