import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { ButtonLink, PlainButtonLink } from '#components/ui/button.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Section } from '#components/ui/page.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { legalHoldCountsIn } from '#lib/domains/erasure/rules.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { DerivedSections, useStoreNames } from './derived-sections.tsx'
import { PrintButton } from './print-button.tsx'
import { ReceiptTable } from './receipt-table.tsx'

export function ReceiptView({ receipt, address }: { receipt: Receipt; address: string }) {
  const t = useTranslations('receipt')
  const nameOf = useStoreNames()
  const until = (at: string | null) => (at === null ? t('noEnd') : <Time at={at} />)
  const named = receipt.part_kind ?? receipt.subject_kind
  const kind: [string, ReactNode][] = named === undefined ? [] : [[t('subjectKind'), t(`kinds.${named}`)]]
  const facts: [string, ReactNode][] = [
    [t('deletedId'), <ShortId key="id" id={receipt.deleted_id} what={t('deletedId')} />],
    ...kind,
    [t('deletedAt'), <Time key="at" at={receipt.deleted_at} />],
    [t('signedAt'), <Time key="signed" at={receipt.signed_at} />],
    [t('issuer'), receipt.issuer],
    [t('id'), <ShortId key="receipt" id={receipt.receipt_id} what={t('id')} />],
  ]
  const { retained } = receipt
  const ends = retained.flatMap((entry) => (entry.until === null ? [] : [entry.until])).sort()
  const last = ends.at(-1)
  return (
    <>
      <div className="flex flex-wrap gap-2 print:hidden">
        <ButtonLink href={`/verify#${receipt.receipt_id}`}>{t('check')}</ButtonLink>
        <PlainButtonLink tone="plain" href={`/v1/receipts/${receipt.receipt_id}/pdf`}>
          {t('pdf')}
        </PlainButtonLink>
        <PlainButtonLink
          tone="plain"
          href={`/v1/receipts/${receipt.receipt_id}`}
          download={`${receipt.receipt_id}.json`}
        >
          {t('json')}
        </PlainButtonLink>
        <PrintButton />
      </div>
      <FactList facts={facts} />
      {retained.length > 0 && (
        <p>
          {last !== undefined && ends.length === retained.length
            ? t.rich('kept', { count: retained.length, time: () => <Time key="last" at={last} isDay /> })
            : t('keptNoEnd', { count: retained.length })}
        </p>
      )}
      <Section id="stores" title={t('stores')} lead={t('storesLead')}>
        <ReceiptTable
          columns={[t('store'), t('what'), t('found'), t('deleted'), t('left'), t('checkedAt')]}
          rows={receipt.stores.map((store) => ({
            key: store.holder,
            cells: [
              nameOf(store.store),
              <span key="what" lang="en">
                {store.what}
              </span>,
              store.found,
              store.deleted,
              store.residue,
              <Time key="at" at={store.verified_at} />,
            ],
          }))}
        />
      </Section>
      <DerivedSections receipt={receipt} />
      <Section
        id="retained"
        title={t('retained')}
        lead={t(legalHoldCountsIn(receipt) > 0 ? 'retainedLeadHeld' : 'retainedLead')}
      >
        <ReceiptTable
          columns={[t('what'), t('ground'), t('until')]}
          rows={receipt.retained.map((entry) => ({
            key: entry.what,
            cells: [
              <span key="what" lang="en">
                {entry.what}
              </span>,
              <span key="ground" lang="en">
                {entry.ground}
              </span>,
              until(entry.until),
            ],
          }))}
        />
      </Section>
      <Section id="physical" title={t('physical')} lead={t('physicalLead')}>
        <ReceiptTable
          columns={[t('what'), t('until')]}
          rows={receipt.physical.map((entry) => ({
            key: entry.what,
            cells: [
              <span key="what" lang="en">
                {entry.what}
              </span>,
              until(entry.until),
            ],
          }))}
        />
      </Section>
      <Section id="share" title={t('share')} lead={t('shareText')}>
        <CodeBlock code={address} what={t('address')} />
      </Section>
      <Section id="verify" title={t('verify')} lead={t('verifyLead')}>
        <CodeBlock
          code={`npm run --silent kp -- receipts get ${receipt.receipt_id} \\\n  --output receipt.json\nnpm run --silent kp -- receipts verify receipt.json`}
          what={t('command')}
        />
        <p>
          {t.rich('verifyOffline', {
            file: (text) => <PlainLink href={`/v1/receipts/${receipt.receipt_id}`}>{text}</PlainLink>,
            keys: (text) => <PlainLink href="/.well-known/jwks.json">{text}</PlainLink>,
          })}
        </p>
        <p>
          {t.rich('verifyPdf', {
            pdf: (text) => <PlainLink href={`/v1/receipts/${receipt.receipt_id}/pdf`}>{text}</PlainLink>,
            command: (text) => <code className="font-mono">{text}</code>,
          })}
        </p>
        <details>
          <summary className="cursor-pointer">{t('signature')}</summary>
          <div className="pt-2">
            <CodeBlock code={receipt.jws} what={t('signature')} />
          </div>
        </details>
      </Section>
    </>
  )
}
