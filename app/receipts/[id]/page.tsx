import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { Words } from '#components/frame/words.tsx'
import { ReceiptView } from '#components/receipts/receipt-view.tsx'
import { PlainButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { app } from '#lib/app.ts'
import { publicUrl, readEnv } from '#lib/env.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { ask } from '../../reader.ts'

// Whoever has the address may read it; nobody else is to find it.
export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('receipt'))('name'),
  robots: { index: false, follow: false },
})

/** The receipt; or, where its erasure is not finished, how that stands: never a success before it is one. */
async function receiptNamed(id: string): Promise<Receipt | 'under_way' | 'held'> {
  try {
    return await ask(app.receipts.read, { params: { id } })
  } catch (error) {
    // Something is left somewhere; it is erased again, and searched again.
    if (Problem.is(error) && error.code === 'unavailable' && error.headers['Retry-After'] === '60') return 'under_way'
    // An id of the wrong form is no receipt's either.
    if (Problem.is(error) && error.code === 'invalid') notFound()
    if (Problem.is(error) && error.code === 'not_found') return (await app.receipts.standing(id)) ?? notFound()
    throw error
  }
}

export default async function ReceiptPage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params
  const receipt = await receiptNamed(id)
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
  return (
    <Page
      title={t('title')}
      lead={
        <p>
          {left === 0
            ? t('lead', { stores: new Set(receipt.stores.map(({ store }) => store)).size })
            : t('leadIncomplete', { left })}
        </p>
      }
    >
      <Words of={['receipt']}>
        <ReceiptView receipt={receipt} address={`${publicUrl(readEnv())}/receipts/${receipt.receipt_id}`} />
      </Words>
    </Page>
  )
}
