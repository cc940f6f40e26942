import { useFormatter, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useDataNames } from '#components/stores/data-names.ts'
import { ButtonLink, PlainButtonLink } from '#components/ui/button.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { LinkCopy } from '#components/ui/copy-link.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Card, Section } from '#components/ui/page.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { DerivedSections } from './derived-sections.tsx'
import { Folded } from './folded.tsx'
import { PrintButton } from './print-button.tsx'
import { ReadingTable } from './receipt-lead.tsx'
import { ReceiptTable } from './receipt-table.tsx'
import { useReceiptWords } from './receipt-words.tsx'
import { isEmpty, recordCounts, type StoreTotal, storeTotals } from './store-totals.ts'

/** How to share the receipt, and how to verify it without this website. */
function ReceiptProof({ receipt, address }: { receipt: Receipt; address: string }) {
  const t = useTranslations('receipt')
  const at = `/v1/receipts/${receipt.receipt_id}`
  return (
    <>
      <Folded title={t('share')}>
        <p className="text-quiet">{t('shareText')}</p>
        <CodeBlock code={address} what={t('address')} />
      </Folded>
      <Folded title={t('offline')}>
        <p className="text-quiet">
          {t.rich('offlineText', { keys: (text) => <PlainLink href="/.well-known/jwks.json">{text}</PlainLink> })}
        </p>
        <CodeBlock
          code={`npm run --silent kp -- receipts get ${receipt.receipt_id} \\\n  --output receipt.json\nnpm run --silent kp -- receipts verify receipt.json`}
          what={t('command')}
        />
        <p>
          {t.rich('other', {
            file: (text) => <PlainLink href={at}>{text}</PlainLink>,
            pdf: (text) => <PlainLink href={`${at}/pdf`}>{text}</PlainLink>,
          })}
        </p>
        <h3 className="font-medium">{t('signature')}</h3>
        <section
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable with the keyboard
          tabIndex={0}
          aria-label={t('signature')}
          className="max-h-48 overflow-y-auto rounded-box print:max-h-none"
        >
          <CodeBlock code={receipt.jws} what={t('signature')} />
        </section>
      </Folded>
    </>
  )
}

function RetainedUntil({ at }: { at: string | null }) {
  const t = useTranslations('receipt.retained')
  return at === null ? t('noEnd') : <Time at={at} isDay />
}

/** What the deletion retains on purpose, and why. */
function ReceiptRetained({ retained }: Pick<Receipt, 'retained'>) {
  const t = useTranslations('receipt')
  const words = useReceiptWords()
  if (retained.length === 0) return null
  return (
    <Section id="retained" title={t('retained.title')}>
      <ReceiptTable
        columns={[t('what'), t('retained.why'), t('retained.until')]}
        rows={retained.map(({ what, ground, until }) => ({
          key: what,
          cells: [words.retained(what), words.ground(ground), <RetainedUntil key="until" at={until} />],
        }))}
      />
    </Section>
  )
}

/** Copies that the registry can no longer read. */
function ReceiptPhysical({ physical }: Pick<Receipt, 'physical'>) {
  const t = useTranslations('receipt')
  const words = useReceiptWords()
  if (physical.length === 0) return null
  return (
    <Folded title={t('physical.title')}>
      <p className="text-quiet">{t('physical.lead')}</p>
      <ReceiptTable
        columns={[t('what'), t('retained.until')]}
        rows={physical.map(({ what, until }) => ({
          key: what,
          cells: [words.physical(what), <RetainedUntil key="until" at={until} />],
        }))}
      />
    </Folded>
  )
}

/** The columns of counts; pseudonymized records only if there are any. */
const shownCounts = (rows: readonly StoreTotal[]) =>
  (['found', 'deleted', 'pseudonymized', 'left'] as const).filter(
    (key) => key !== 'pseudonymized' || rows.some(({ pseudonymized }) => pseudonymized > 0),
  )

/** Each record type with records, in the reader's language. */
function RecordTypes({ stores }: Pick<Receipt, 'stores'>) {
  const t = useTranslations('receipt')
  const names = useDataNames()
  const format = useFormatter()
  const counted = stores.map((one) => ({ ...one, ...recordCounts(one) }))
  const filled = counted.filter((one) => !isEmpty(one))
  const empty = counted.filter(isEmpty).map((one) => names.erasedRecords(one.holder, one.what))
  const counts = shownCounts(filled)
  return (
    <Folded title={t('byType')}>
      <ReceiptTable
        columns={[t('store'), t('what'), ...counts.map((key) => t(key)), t('checkedAt')]}
        rows={filled.map((one) => ({
          key: one.holder,
          cells: [
            names.place(one.store),
            names.erasedRecords(one.holder, one.what),
            ...counts.map((key) => one[key]),
            <Time key="at" at={one.verified_at} />,
          ],
        }))}
      />
      {empty.length > 0 && <p className="text-sm text-quiet">{t('emptyStores', { list: format.list(empty) })}</p>}
    </Folded>
  )
}

/** The totals of each store with records; the details of each record type are collapsed. */
function ReceiptStores({ stores }: Pick<Receipt, 'stores'>) {
  const t = useTranslations('receipt')
  const names = useDataNames()
  const format = useFormatter()
  const totals = storeTotals({ stores })
  const filled = totals.filter((total) => !isEmpty(total))
  const counts = shownCounts(filled)
  const empty = totals.filter(isEmpty).map(({ store }) => names.place(store))
  return (
    <Section id="stores" title={t('stores')}>
      {filled.length > 0 && (
        <ReceiptTable
          columns={[t('store'), ...counts.map((key) => t(key))]}
          rows={filled.map((total) => ({
            key: total.store,
            cells: [names.place(total.store), ...counts.map((key) => total[key])],
          }))}
        />
      )}
      {empty.length > 0 && (
        <details className="text-sm text-quiet">
          <summary className="min-h-6 w-fit cursor-pointer">{t('emptyCount', { count: empty.length })}</summary>
          <p>{format.list(empty)}</p>
        </details>
      )}
    </Section>
  )
}

/** Downloads the keys that verify receipts. A copy from before the deletion does not depend on this server. */
export function PublicKeysLink({ size }: { size?: 'small' }) {
  const t = useTranslations('receipt')
  return (
    <PlainButtonLink tone="plain" size={size} href="/.well-known/jwks.json" download="public-keys.json">
      {t('keys')}
    </PlainButtonLink>
  )
}

/** Verify, and one file with everything that a later verification needs. */
export function ReceiptActions({ id }: { id: string }) {
  const t = useTranslations('receipt')
  return (
    <>
      <ButtonLink href={`/verify#${id}`}>{t('check')}</ButtonLink>
      <PlainButtonLink tone="plain" href={`/v1/receipts/${id}/pdf`} download={`${id}.pdf`} title={t('saveHint')}>
        {t('saveFile')}
      </PlainButtonLink>
    </>
  )
}

/** The other forms of the receipt. */
function ReceiptFiles({ id }: { id: string }) {
  const t = useTranslations('receipt')
  return (
    <p className="flex flex-wrap gap-2 print:hidden">
      <PlainButtonLink tone="plain" size="small" href={`/v1/receipts/${id}`} download={`${id}.json`}>
        {t('json')}
      </PlainButtonLink>
      <PublicKeysLink size="small" />
      <PrintButton />
      <LinkCopy path={`/receipts/${id}`} what={t('copyLink')} />
    </p>
  )
}

/** Subject, dates and issuer. */
export function ReceiptFacts({ receipt }: { receipt: Receipt }) {
  const t = useTranslations('receipt')
  const kind = receipt.part_kind ?? receipt.subject_kind
  const { names_replaced: names } = receipt
  const facts: (readonly [string, ReactNode])[] = [
    [
      t('subject'),
      <span key="subject">
        {kind && <>{t(`kinds.${kind}`)} </>}
        <CopyableId id={receipt.deleted_id} what={t('subject')} />
      </span>,
    ],
    [t('deletedAt'), <Time key="at" at={receipt.deleted_at} />],
    [t('signedAt'), <Time key="signed" at={receipt.signed_at} />],
    ...(names === undefined
      ? []
      : [[t('names.title'), names === null ? t('names.kept') : t('names.replaced', { count: names })] as const]),
    [t('issuer'), receipt.issuer],
    [t('id'), <CopyableId key="receipt" id={receipt.receipt_id} what={t('id')} />],
  ]
  return (
    <Card>
      <FactList facts={facts} />
    </Card>
  )
}

/** The second layer: all tables, facts and files. */
export function ReceiptView({ receipt, address }: { receipt: Receipt; address: string }) {
  const t = useTranslations('receipt')
  return (
    <div className="grid gap-3">
      <Folded title={t('details')}>
        <div className="grid min-w-0 gap-6">
          <ReceiptFacts receipt={receipt} />
          <ReceiptStores stores={receipt.stores} />
          <ReceiptRetained retained={receipt.retained} />
          <DerivedSections receipt={receipt} />
          <ReadingTable reading={receipt.complete_reading} />
          <RecordTypes stores={receipt.stores} />
          <ReceiptPhysical physical={receipt.physical} />
        </div>
      </Folded>
      <Folded title={t('files')}>
        <ReceiptFiles id={receipt.receipt_id} />
        <ReceiptProof receipt={receipt} address={address} />
      </Folded>
    </div>
  )
}
