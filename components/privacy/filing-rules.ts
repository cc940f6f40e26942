import type { ProblemDocument } from '#lib/client/request.ts'
import type { fileRequest } from '#lib/domains/privacy-requests/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

/** Longest text in a request, in UTF-16 units, as the API counts it. */
export const longestStatement = 4_000

const namesField = (problem: ProblemDocument | undefined, field: string): boolean =>
  problem?.code === 'invalid' && (problem.issues ?? []).some(({ path }) => path[0] === field)
export const isWrongPassword = (problem: ProblemDocument | undefined): boolean => namesField(problem, 'password')
export const isWrongAddress = (problem: ProblemDocument | undefined): boolean =>
  problem?.code === 'invalid' && (problem.issues ?? []).some(({ path }) => path[0] === 'changes' && path[1] === 'email')

type Filed = Output<typeof fileRequest>
/** What to say after filing: `link` if the subject must confirm their identity, `address` if the new address must be confirmed. */
export function reportedAfter({ data }: Pick<Filed, 'data'>): 'link' | 'address' | 'done' {
  if (data.state === 'received') return 'link'
  return data.parts.some(({ outcome }) => outcome.waits_for === 'address') ? 'address' : 'done'
}

const isForm = (text: string): boolean => /^[^\s@]+@(?:[^\s@.]+\.)+[^\s@.]+$/.test(text)
export interface AccountFields {
  name: string
  email: string
  locale: 'en' | 'zh'
}
/** The fields that differ from the stored account, and the first invalid field. */
export function correctionsOf(
  before: AccountFields,
  after: AccountFields,
): { changes: Partial<AccountFields>; fault: 'name' | 'email' | undefined } {
  const name = after.name.trim()
  const email = after.email.trim()
  const changes: Partial<AccountFields> = {
    ...(name !== before.name && { name }),
    ...(email.toLowerCase() !== before.email.toLowerCase() && { email }),
    ...(after.locale !== before.locale && { locale: after.locale }),
  }
  const fault = name === '' ? 'name' : changes.email !== undefined && !isForm(email) ? 'email' : undefined
  return { changes, fault }
}
