import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { Messages } from '#components/frame/words.tsx'
import { ReceiptView } from '#components/receipts/receipt-view.tsx'
import { PlainButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { publicUrl, readEnv } from '#lib/config/env.ts'
import { legalHoldCountsIn } from '#lib/domains/erasure/rules.ts'
import { receiptNamed } from '../named.ts'

// Anyone with the URL may read the receipt, so search engines must not index it.
export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('receipt'))('name'),
  robots: { index: false, follow: false },
})

export default async function ReceiptPage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params
  const receipt = (await receiptNamed(id)) ?? notFound()
  const t = await getTranslations('receipt')
  if (typeof receipt === 'string')
    return (
      <Page title={t('pending.title')} lead={<p>{receipt === 'held' ? t('pending.held') : t('pending.lead')}</p>}>
        <p className="flex flex-wrap items-center gap-4">
          <PlainButtonLink tone="plain" href={`/receipts/${id}`}>
            {t('pending.again')}
          </PlainButtonLink>
          <ShortId id={id} what={t('id')} />
        </p>
      </Page>
    )
  const left = receipt.stores.reduce((sum, { residue }) => sum + residue, 0)
  const held = legalHoldCountsIn(receipt)
  const stores = new Set(receipt.stores.map(({ store }) => store)).size
  return (
    <Page
      title={held > 0 ? t('titleHeld', { held }) : t('title')}
      lead={
        <p>{left > 0 ? t('leadIncomplete', { left }) : held > 0 ? t('leadHeld', { stores }) : t('lead', { stores })}</p>
      }
    >
      <Messages of={['receipt']}>
        <ReceiptView receipt={receipt} address={`${publicUrl(readEnv())}/receipts/${receipt.receipt_id}`} />
      </Messages>
    </Page>
  )
}
