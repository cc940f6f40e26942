'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Choice, TextArea } from '#components/ui/field.tsx'
import { ReceiptInput } from './receipt-input.tsx'
import { useVerification } from './use-verification.ts'
import { VerificationView } from './verification-view.tsx'

/** Verifies a receipt: first the result, then the receipt and the trusted key, which close when there is a result. */
export function Verifier({ origin }: { origin: string }) {
  const t = useTranslations('verify')
  const [source, setSource] = useState<'here' | 'pinned'>('here')
  const [pinned, setPinned] = useState('')
  const { text, verdict, isBusy, check, change, forget } = useVerification()
  const result = useRef<HTMLElement>(null)
  useEffect(() => {
    if (verdict) result.current?.focus()
  }, [verdict])

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isBusy && text.trim() !== '') void check(text, source === 'pinned' ? pinned : undefined)
  }
  const isVerified = verdict !== undefined && 'receipt' in verdict
  return (
    <div className="grid gap-6">
      <section ref={result} tabIndex={-1} aria-label={t('result.label')} aria-busy={isBusy} className="outline-none">
        {isBusy && <p className="text-quiet">{t('checking')}</p>}
        {verdict && !isBusy && <VerificationView verdict={verdict} origin={origin} />}
      </section>
      <details open={!isVerified}>
        <summary className="min-h-6 cursor-pointer font-medium">{t('input')}</summary>
        <form onSubmit={submit} className="grid gap-5 pt-4">
          <ReceiptInput text={text} change={change} />
          <Choice
            label={t('keys.label')}
            name="keys"
            value={source}
            onChange={(value) => {
              setSource(value === 'pinned' ? 'pinned' : 'here')
              forget()
            }}
            options={[
              { value: 'here', title: t('keys.here'), text: t('keys.hereText') },
              { value: 'pinned', title: t('keys.pinned'), text: t('keys.pinnedText') },
            ]}
          />
          {source === 'pinned' && (
            <TextArea
              label={t('keys.field')}
              hint={t('keys.fieldHint')}
              value={pinned}
              onChange={({ target }) => {
                setPinned(target.value)
                forget()
              }}
              spellCheck={false}
              dir="ltr"
              className="font-mono"
            />
          )}
          <div className="flex flex-wrap gap-2">
            <Button type="submit" aria-disabled={isBusy || text.trim() === ''}>
              {isBusy ? t('checking') : t('check')}
            </Button>
            {text !== '' && (
              <Button tone="ghost" onClick={() => change('')}>
                {t('clear')}
              </Button>
            )}
          </div>
        </form>
      </details>
    </div>
  )
}
