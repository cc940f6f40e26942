import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { FactList } from '#components/ui/facts.tsx'
import { Time } from '#components/ui/time.tsx'
import { roles } from '#lib/domains/accounts/rules.ts'
import { factorRequirements } from '#lib/domains/accounts/second-factors/rules.ts'
import { holdKinds } from '#lib/domains/holds/rules.ts'
import type en from '#messages/en.ts'
import type { Proposal } from './endpoints.ts'

type FactName = keyof typeof en.approvals.facts
const names = [
  'name',
  'email',
  'organization',
  'is_closed',
  'role_now',
  'role_next',
  'required_of_now',
  'required_of_next',
  'from',
  'agent',
  'token',
  'scopes',
  'days',
  'request',
  'kinds',
  'grace',
  'project',
  'kind',
  'target',
  'store',
  'provider',
  'reason',
  'until',
  'network_now',
  'network_next',
  'org_now',
  'org_next',
  'private_now',
  'private_next',
  'is_on',
  'prefixes_now',
  'prefixes_next',
] as const satisfies readonly FactName[]
const times: readonly FactName[] = ['from', 'until']

const among = <T extends string>(values: readonly T[], value: unknown): T | undefined =>
  values.find((one) => one === value)

/** What a proposal would do, and the state when it was made. */
export function ProposalFacts({ facts }: { facts: NonNullable<Proposal['facts']> }) {
  const t = useTranslations('approvals')
  const roleNames = useTranslations('roles.names')
  const ofHolds = useTranslations('holds.kinds')
  const ofFactors = useTranslations('security.factors.requirements')
  const named = (name: FactName, value: string | number): ReactNode => {
    const role = name.startsWith('role_') && among(roles, value)
    if (role) return roleNames(role)
    const kind = name === 'kind' && among(holdKinds, value)
    if (kind) return ofHolds(kind)
    const who = name.startsWith('required_of_') && among(factorRequirements, value)
    if (who) return ofFactors(who)
    if (times.includes(name)) return <Time at={String(value)} show="both" />
    return typeof value === 'number' ? t('days', { count: value }) : <bdi>{value}</bdi>
  }
  const shown = (name: FactName) => {
    const value = facts[name]
    if (typeof value === 'boolean') return t(value ? 'yes' : 'no')
    if (value !== null && value !== undefined) return named(name, value)
    return t(/_(now|next)$/.test(name) ? 'forEver' : 'none')
  }
  // An empty value is shown only for a period, where it means "forever". `is_closed: false` is not shown.
  const isTold = (name: FactName) =>
    name in facts &&
    !(name === 'is_closed' && facts[name] === false) &&
    ((facts[name] ?? null) !== null || /^(network|org|private)_/.test(name))
  return <FactList facts={names.filter(isTold).map((name) => [t(`facts.${name}`), shown(name)])} />
}
