import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { Messages } from '#components/frame/words.tsx'
import { ReceiptLead } from '#components/receipts/receipt-lead.tsx'
import { ReceiptActions, ReceiptView } from '#components/receipts/receipt-view.tsx'
import { receiptSummary } from '#components/receipts/store-totals.ts'
import { Badge } from '#components/ui/badge.tsx'
import { PlainButtonLink } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { Page } from '#components/ui/page.tsx'
import { publicUrl, readEnv } from '#lib/config/env.ts'
import { legalHoldCountsIn } from '#lib/domains/erasure/rules.ts'
import { receiptNamed } from '../named.ts'

// Anyone with the URL may read the receipt, so search engines must not index it.
export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('receipt'))('name'),
  robots: { index: false, follow: false },
})

const statusTones = { verified: 'success', held: 'warning', incomplete: 'warning', nothing: 'warning' } as const

export default async function ReceiptPage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params
  const receipt = (await receiptNamed(id)) ?? notFound()
  const t = await getTranslations('receipt')
  if (typeof receipt === 'string')
    return (
      <Page
        title={t('name')}
        status={
          <Badge tone={receipt === 'held' ? 'warning' : 'progress'} hasDot>
            {t(receipt === 'held' ? 'pending.held' : 'pending.running')}
          </Badge>
        }
        summary={<p>{t(receipt === 'held' ? 'pending.heldLead' : 'pending.lead')}</p>}
        actions={
          <PlainButtonLink tone="plain" href={`/receipts/${id}`}>
            {t('pending.again')}
          </PlainButtonLink>
        }
      >
        <CopyableId id={id} what={t('id')} />
      </Page>
    )
  const { status } = receiptSummary(receipt, legalHoldCountsIn(receipt))
  return (
    <Messages of={['receipt']}>
      <Page
        title={t('name')}
        status={
          <Badge tone={statusTones[status]} hasDot>
            {t(`status.${status}`)}
          </Badge>
        }
      >
        <ReceiptLead receipt={receipt}>
          <ReceiptActions id={receipt.receipt_id} />
        </ReceiptLead>
        <ReceiptView receipt={receipt} address={`${publicUrl(readEnv())}/receipts/${receipt.receipt_id}`} />
      </Page>
    </Messages>
  )
}
