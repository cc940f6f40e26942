'use client'

import { useTranslations } from 'next-intl'
import { MentionsOf } from '#components/erasures/mentions.tsx'
import { StoreProgress } from '#components/erasures/store-progress.tsx'
import { StuckSteps } from '#components/erasures/stuck-steps.tsx'
import { Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { AdminRequestDetail } from './endpoints.ts'

/** The deletion of a request, store by store, and what it left in texts of others. */
export function RequestErasure({ request: { id, erasure } }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest.erasure')
  return (
    <>
      <Section
        id="erasure"
        title={t('title')}
        actions={erasure && <TextLink href={`/admin/erasures/${erasure.run_id}`}>{t('open')}</TextLink>}
      >
        {erasure ? (
          <>
            <StuckSteps steps={erasure.steps} requestId={id} />
            <StoreProgress run={erasure} />
          </>
        ) : (
          <p>{t('none')}</p>
        )}
      </Section>
      {erasure && <MentionsOf runId={erasure.run_id} isOver={erasure.state === 'done'} />}
    </>
  )
}
