import type { Permission, Verb } from '#lib/kernel/operation.ts'

/** What qualifies an actor for a verb. One table for all domains: a new domain needs no line here. */
export type ActorRole =
  | 'anonymous'
  | 'agent'
  | 'scope:read'
  | 'scope:write'
  | 'scope:privacy'
  | 'scope:admin'
  | 'person'
  | 'manager'
  | 'auditor'
  | 'admin'
  | 'anonymous-reader'

const allowed: Record<Verb, readonly ActorRole[]> = {
  read: ['scope:read', 'scope:admin', 'person', 'manager', 'auditor', 'admin', 'anonymous-reader'],
  write: ['scope:write', 'scope:admin', 'person', 'manager', 'admin'],
  privacy: ['scope:privacy', 'person', 'manager', 'auditor', 'admin'],
  self: ['agent', 'person', 'manager', 'auditor', 'admin'],
  person: ['person', 'manager', 'auditor', 'admin'],
  audit: ['auditor', 'admin', 'scope:admin'],
  admin: ['admin', 'scope:admin'],
}
const verbs = new Set<string>(Object.keys(allowed))
const isVerb = (text: string): text is Verb => verbs.has(text)

/** Denies unknown permissions. */
export function permits(statuses: readonly ActorRole[], permission: Permission): boolean {
  if (permission === 'public') return true
  const verb = permission.slice(permission.lastIndexOf(':') + 1)
  return isVerb(verb) && allowed[verb].some((status) => statuses.includes(status))
}
