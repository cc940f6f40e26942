import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { ReceiptView } from '#components/receipts/receipt-view.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { ask } from '../../reader.ts'

// Whoever has the address may read it; nobody else is to find it.
export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('receipt'))('name'),
  robots: { index: false, follow: false },
})

async function receiptNamed(id: string): Promise<Receipt> {
  try {
    return await ask(app.receipts.read, { params: { id } })
  } catch (error) {
    // An id of the wrong form is no receipt's either.
    if (Problem.is(error) && (error.code === 'not_found' || error.code === 'invalid')) notFound()
    throw error
  }
}

export default async function ReceiptPage({ params }: { params: Promise<{ id: string }> }) {
  const receipt = await receiptNamed((await params).id)
  const t = await getTranslations('receipt')
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
      <ReceiptView receipt={receipt} />
    </Page>
  )
}
