'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useDraft } from '#components/frame/draft.ts'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { localeNamed } from '#lib/domains/accounts/rules.ts'
import { FiledNote } from './filed-note.tsx'
import { type FiledRequestAnswer, useFiling } from './filing.ts'
import { type AccountFields, correctionsOf, isWrongAddress, reportedAfter } from './filing-rules.ts'
import { IdentityField, type PasswordIdentity } from './identity-field.tsx'
import { RefusalNote } from './refusal.tsx'

/** Corrects name, email address and language of the account. A new address takes effect after its mailbox confirms it. */
export function CorrectForm({ account, identity }: { account: AccountFields; identity: PasswordIdentity }) {
  const t = useTranslations('myPrivacy.correct')
  const common = useTranslations('common')
  const busy = useTranslations('myPrivacy.filed')('busy')
  const { draft, change, clear } = useDraft('privacy.correct', { ...account })
  const filing = useFiling(identity)
  const [filed, setFiled] = useState<{ answer: FiledRequestAnswer; email: string | undefined; isMore: boolean }>()
  const [fault, setFault] = useState<'name' | 'email' | 'unchanged'>()

  if (!identity.hasPassword)
    return <p>{t.rich('noPassword', { link: (words) => <TextLink href="/account/password">{words}</TextLink> })}</p>

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const { changes, fault: found } = correctionsOf(account, draft)
    const isUnchanged = Object.keys(changes).length === 0
    setFault(found ?? (isUnchanged ? 'unchanged' : undefined))
    if (found || isUnchanged) return
    setFiled(undefined)
    filing.file({ kinds: ['rectification'], changes }, (answer) => {
      setFiled({ answer, email: changes.email, isMore: Object.keys(changes).length > 1 })
      clear()
    })
  }
  const refusedAddress = filing.refusal !== undefined && isWrongAddress(filing.refusal.problem)
  const isAddressAsked = filed !== undefined && reportedAfter(filed.answer) === 'address' && filed.email !== undefined
  return (
    <form method="post" onSubmit={submit} noValidate className="grid gap-5" aria-label={t('title')}>
      {filed && (
        <FiledNote
          filed={filed.answer}
          title={isAddressAsked ? t('doneEmail', { email: filed.email ?? '' }) : t('done')}
          text={isAddressAsked && filed.isMore ? t('donePart') : undefined}
        />
      )}
      {!refusedAddress && <RefusalNote error={filing.refusal} words="myPrivacy" />}
      <div className="grid gap-5 sm:grid-cols-2">
        <Field
          label={t('name')}
          name="name"
          autoComplete="name"
          maxLength={200}
          value={draft.name}
          error={fault === 'name' ? t('nameMissing') : undefined}
          onChange={({ target }) => change({ name: target.value })}
        />
        <Field
          label={t('email')}
          hint={t('emailHint')}
          name="email"
          type="email"
          autoComplete="email"
          maxLength={320}
          value={draft.email}
          error={fault === 'email' || refusedAddress ? common('faults.email') : undefined}
          onChange={({ target }) => change({ email: target.value })}
        />
        <Select
          label={t('language')}
          name="locale"
          value={draft.locale}
          options={(['en', 'zh'] as const).map((value) => ({ value, title: t(`languages.${value}`) }))}
          onChange={({ target }) => change({ locale: localeNamed(target.value) })}
        />
        <IdentityField {...identity} input={filing.input} fault={filing.fault} />
      </div>
      <div className="flex flex-wrap items-center gap-4">
        <Button type="submit" aria-disabled={filing.isPending}>
          {filing.isPending ? busy : t('save')}
        </Button>
        <p role="status" className="text-sm text-quiet">
          {fault === 'unchanged' && t('unchanged')}
        </p>
      </div>
    </form>
  )
}
