'use client'

import { useLocale, useTranslations } from 'next-intl'
import { type FormEvent, useRef, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Choice, Field, TextArea } from '#components/ui/field.tsx'
import { focusOnMount } from '#components/ui/focus-on-mount.ts'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { type RequestKind, requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import { sendFormAt } from './endpoints.ts'

const longestStatement = 4_000
/** The server checks the address completely; this catches common slips. */
const isAddress = (text: string): boolean => /^[^\s@]+@[^\s@]+$/.test(text) && text.includes('.', text.indexOf('@'))
const textIn = (data: FormData, name: string): string => String(data.get(name) ?? '').trim()

type Fault = 'email' | 'kind' | 'statement'

/** What happens after the form is sent; it takes the focus from the form, which disappears. */
function Sent({ email, again }: { email: string; again: () => void }) {
  const t = useTranslations('requestForm.sent')
  return (
    <div className="grid gap-4">
      <Alert tone="done" title={t('title')} ref={focusOnMount} isLive>
        <p>{t('text', { email })}</p>
        <p>{t('nothing')}</p>
      </Alert>
      <Button tone="plain" className="justify-self-start" onClick={again}>
        {t('again')}
      </Button>
    </div>
  )
}

/** A field that people do not see; programs that fill in every field are discarded. */
const HiddenField = ({ label }: { label: string }) => (
  <div aria-hidden className="sr-only">
    <label>
      {label}
      <input name="website" tabIndex={-1} autoComplete="off" />
    </label>
  </div>
)

/** The public form for privacy requests without an account. */
export function RequestForm() {
  const t = useTranslations('requestForm')
  const kindName = useTranslations('requestNames.kinds')
  const locale: 'en' | 'zh' = useLocale() === 'zh' ? 'zh' : 'en'
  const [kind, setKind] = useState<RequestKind>()
  const [faults, setFaults] = useState<readonly Fault[]>([])
  const [sentTo, setSentTo] = useState<string>()
  const form = useRef<HTMLFormElement>(null)
  const sending = useApiMutation(sendFormAt, { isQuiet: true })
  const needsStatement = kind === 'rectification'

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const [email, name, statement] = [textIn(data, 'email'), textIn(data, 'name'), textIn(data, 'statement')]
    const found: Fault[] = [
      ...(isAddress(email) ? [] : (['email'] as const)),
      ...(kind === undefined ? (['kind'] as const) : []),
      ...(needsStatement && statement === '' ? (['statement'] as const) : []),
    ]
    setFaults(found)
    const [first] = found
    if (first !== undefined) form.current?.querySelector<HTMLElement>(`[name=${first}]`)?.focus()
    if (first !== undefined || kind === undefined || sending.isPending) return
    const body = {
      email,
      kind,
      locale,
      website: textIn(data, 'website'),
      ...(name !== '' && { name }),
      ...(statement !== '' && { statement }),
    }
    sending.begin({ body }, () => setSentTo(email))
  }
  if (sentTo !== undefined) return <Sent email={sentTo} again={() => setSentTo(undefined)} />
  return (
    <form ref={form} method="post" noValidate onSubmit={submit} className="grid gap-5" aria-label={t('title')}>
      {sending.problem && <ProblemAlert problem={sending.problem} />}
      <Field
        label={t('email')}
        hint={t('emailHint')}
        name="email"
        type="email"
        inputMode="email"
        autoComplete="email"
        maxLength={320}
        error={faults.includes('email') ? t('emailFault') : undefined}
        required
      />
      <Field label={t('name')} hint={t('nameHint')} name="name" autoComplete="name" maxLength={200} />
      <div className="grid gap-2">
        <Choice
          label={t('kind')}
          name="kind"
          value={kind}
          onChange={setKind}
          options={requestKinds.map((value) => ({
            value,
            title: kindName(value),
            text: t(`kindTexts.${value}`),
          }))}
        />
        {faults.includes('kind') && kind === undefined && (
          <p role="alert" className="text-sm text-red">
            {t('kindFault')}
          </p>
        )}
      </div>
      <TextArea
        label={t(needsStatement ? 'statementNeeded' : 'statement')}
        hint={t('statementHint')}
        name="statement"
        dir="auto"
        maxLength={longestStatement}
        required={needsStatement}
        error={faults.includes('statement') ? t('statementFault') : undefined}
      />
      <HiddenField label={t('website')} />
      <Button type="submit" aria-disabled={sending.isPending} className="justify-self-start">
        {sending.isPending ? t('busy') : t('submit')}
      </Button>
    </form>
  )
}
