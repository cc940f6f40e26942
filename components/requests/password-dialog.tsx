'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { issueOf } from '#components/frame/faults.ts'
import { Confirm } from '#components/ui/confirm.tsx'
import { Field } from '#components/ui/field.tsx'
import type { useExpediting, useVerifying } from './requests.ts'

export interface PasswordActProps {
  id: string
  act: 'expedite' | 'verify'
  change: ReturnType<typeof useExpediting> | ReturnType<typeof useVerifying>
}
interface PasswordDialogProps extends PasswordActProps {
  open: boolean
  onOpen: (open: boolean) => void
}
/** Explains the consequences of an act and asks for the password. */
export function PasswordDialog({ id, act, change, open, onOpen }: PasswordDialogProps) {
  const t = useTranslations('requests.request.actions')
  const [password, setPassword] = useState('')
  const toggle = (isOpen: boolean) => {
    onOpen(isOpen)
    setPassword('')
  }
  const wrong = issueOf(change.problem, 'password')
  return (
    <Confirm
      open={open}
      onOpenChange={toggle}
      title={t(`${act}Title`)}
      consequences={<p>{t(`${act}Text`)}</p>}
      action={t(`${act}Action`)}
      tone={act === 'expedite' ? 'danger' : 'main'}
      change={wrong ? { ...change, problem: undefined } : change}
      isIncomplete={password === ''}
      onConfirm={() => change.begin({ params: { id }, body: { password } }, () => toggle(false))}
    >
      <Field
        label={t('password')}
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={({ target }) => setPassword(target.value)}
        error={wrong && t('wrongPassword')}
        required
      />
    </Confirm>
  )
}
