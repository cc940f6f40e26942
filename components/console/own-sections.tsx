import { useFormatter, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { addressesToConfirmPage } from '#components/participants/addresses-page.ts'
import { Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { ClosingProjects } from './closing-projects.tsx'
import { ExpiringSoonCard } from './expiring-soon.tsx'
import { LastSignIns } from './last-sign-ins.tsx'
import { NewestReceipts } from './newest-receipts.tsx'
import { OpenRequestsCard } from './open-requests.tsx'
import type { OpenWork, Overview } from './overview.ts'
import { WorkList } from './work-list.tsx'

/** The reader's projects in which agents reported addresses that nobody has confirmed, each with a link to those participants. */
function AddressesToConfirm({ addresses }: { addresses: Overview['addresses'] }) {
  const format = useFormatter()
  return (
    <ul className="divide-y divide-line border-y border-line">
      {addresses.map(({ project_id, name, count }) => (
        <li key={project_id} className="flex flex-wrap items-baseline gap-x-4 py-2.5">
          <TextLink href={addressesToConfirmPage(project_id)} className="grow">
            <bdi>{name}</bdi>
          </TextLink>
          <span className="text-sm text-quiet tabular-nums">{format.number(count)}</span>
        </li>
      ))}
    </ul>
  )
}

interface OwnSectionsProps {
  overview: Overview
  work: OpenWork
  agentNames: Readonly<Record<string, string>>
  /** Further sections. */
  children?: ReactNode
}
/** The lists behind the numbers of a person. A list without entries is absent. */
export function OwnSections({ overview, work, agentNames, children }: OwnSectionsProps) {
  const t = useTranslations('overview')
  const { requests, expiring, closing, addresses, receipts } = overview
  return (
    <div className="grid gap-x-10 gap-y-8 lg:grid-cols-2">
      <WorkList initial={work} />
      {requests.open > 0 && (
        <Section id="requests" title={t('requests.title')}>
          <OpenRequestsCard requests={requests} agentNames={agentNames} />
        </Section>
      )}
      {addresses.length > 0 && (
        <Section id="addresses" title={t('addresses.title')} lead={t('addresses.lead')}>
          <AddressesToConfirm addresses={addresses} />
        </Section>
      )}
      {(expiring.by_visibility.length > 0 || expiring.exports.length > 0) && (
        <Section id="expiring" title={t('expiring.title')}>
          <ExpiringSoonCard expiring={expiring} />
        </Section>
      )}
      {closing.length > 0 && (
        <Section id="closing" title={t('closing.title')}>
          <ClosingProjects closing={closing} />
        </Section>
      )}
      {receipts.length > 0 && (
        <Section id="receipts" title={t('receipts.title')}>
          <NewestReceipts receipts={receipts} />
        </Section>
      )}
      <Section id="sign-ins" title={t('signIns.title')}>
        <LastSignIns signIns={overview.sign_ins} />
      </Section>
      {children}
    </div>
  )
}
