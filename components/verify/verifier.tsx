'use client'

import { clsx } from 'clsx'
import { useTranslations } from 'next-intl'
import { type DragEvent, type FormEvent, useCallback, useEffect, useId, useRef, useState } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Choice, TextArea } from '#components/ui/field.tsx'
import { VerificationView } from './verification-view.tsx'
import { type VerificationResult, verifyReceiptText } from './verify-receipt.ts'

const idForm = /^rcpt_[0-9A-Za-z]{22}$/
/** No receipt is larger. */
const mostBytes = 5_000_000

/** The receipt with this id from this installation; undefined if there is none or the request fails. */
async function issuedHere(id: string): Promise<string | undefined> {
  const response = await fetch(`/v1/receipts/${id}`).catch(() => undefined)
  if (!response?.ok) return undefined
  return JSON.stringify(await response.json(), null, 2)
}

/** The form to verify a receipt: paste, drop or choose it, select the trusted key, and read the result. */
export function Verifier({ origin }: { origin: string }) {
  const t = useTranslations('verify')
  const fileId = useId()
  const [text, setText] = useState('')
  const [source, setSource] = useState<'here' | 'pinned'>('here')
  const [pinned, setPinned] = useState('')
  const [verdict, setVerdict] = useState<VerificationResult>()
  const [isBusy, setBusy] = useState(false)
  const [isMissing, setMissing] = useState(false)
  const [isOver, setOver] = useState(false)
  const attempt = useRef(0)

  const check = useCallback(async (given: string, key: string | undefined) => {
    attempt.current += 1
    const own = attempt.current
    setBusy(true)
    setMissing(false)
    // The text is a receipt id, and this installation may have that receipt.
    const isId = idForm.test(given.trim())
    const receipt = isId ? await issuedHere(given.trim()) : given
    if (own !== attempt.current) return
    if (receipt === undefined) {
      setVerdict(undefined)
      setMissing(true)
      return setBusy(false)
    }
    if (isId) setText(receipt)
    const found = await verifyReceiptText(receipt, key)
    // Another check started meanwhile.
    if (own !== attempt.current) return
    setVerdict(found)
    setBusy(false)
  }, [])
  const change = (next: string) => {
    attempt.current += 1
    setBusy(false)
    setText(next)
    setVerdict(undefined)
    setMissing(false)
  }
  const take = async (file: File | undefined) => {
    if (file) change(file.size > mostBytes ? '' : await file.text())
  }
  // Receipt pages link here with the id in the fragment, which no server receives.
  useEffect(() => {
    const id = window.location.hash.slice(1)
    if (!idForm.test(id)) return
    setText(id)
    void check(id, undefined)
  }, [check])

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isBusy && text.trim() !== '') void check(text, source === 'pinned' ? pinned : undefined)
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    void take(event.dataTransfer.files[0])
  }
  return (
    <div className="grid gap-8">
      <form onSubmit={submit} className="grid gap-5">
        <section
          aria-label={t('field')}
          onDragOver={(event) => {
            event.preventDefault()
            setOver(true)
          }}
          onDragLeave={() => setOver(false)}
          onDrop={drop}
          className={clsx(
            'grid gap-3 rounded-box',
            isOver && 'outline-2 outline-offset-4 outline-accent outline-dashed',
          )}
        >
          <TextArea
            label={t('field')}
            hint={t('fieldHint')}
            value={text}
            onChange={({ target }) => change(target.value)}
            rows={8}
            spellCheck={false}
            dir="ltr"
            className="font-mono"
          />
          <p>
            <label
              htmlFor={fileId}
              className="inline-flex min-h-8 cursor-pointer items-center rounded-box border border-edge bg-raised px-3 py-1 text-sm font-medium hover:bg-sunken focus-within:outline-2 focus-within:outline-offset-2 focus-within:outline-accent"
            >
              {t('choose')}
              <input
                id={fileId}
                type="file"
                accept="application/json,.json"
                className="sr-only"
                onChange={({ target }) => {
                  void take(target.files?.[0])
                  target.value = ''
                }}
              />
            </label>
          </p>
        </section>
        <Choice
          label={t('keys.label')}
          name="keys"
          value={source}
          onChange={(value) => {
            setSource(value === 'pinned' ? 'pinned' : 'here')
            setVerdict(undefined)
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
              setVerdict(undefined)
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
      <section aria-label={t('result.label')} aria-busy={isBusy}>
        {isMissing && <Alert tone="warning" isLive title={t('result.notFound')} />}
        {verdict && <VerificationView verdict={verdict} origin={origin} />}
      </section>
    </div>
  )
}
