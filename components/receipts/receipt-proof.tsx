import { useTranslations } from 'next-intl'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { Folded } from './folded.tsx'

/** How to share the receipt, and how to verify it without this website. */
export function ReceiptProof({ receipt, address }: { receipt: Receipt; address: string }) {
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
