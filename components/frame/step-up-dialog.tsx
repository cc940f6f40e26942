'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { SecondFactorCodeField } from '#components/second-factors/code-field.tsx'
import { passkeyAnswer } from '#components/second-factors/passkey-button.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Field } from '#components/ui/field.tsx'
import { type Endpoint, type ProblemDocument, RequestRefused, request } from '#lib/client/request.ts'
import type { confirmPassword } from '#lib/domains/accounts/contract.ts'
import { issueOf } from './faults.ts'

const confirmAt: Endpoint<typeof confirmPassword> = { method: 'post', path: '/api/account/confirm' }

interface StepUpDialogProps {
  open: boolean
  onFinish: (confirmed: boolean) => void
}

/** Asks for the password, and for the second factor of an account that has one. */
export function StepUpDialog({ open, onFinish }: StepUpDialogProps) {
  const t = useTranslations('frame.stepUp')
  const [isPending, setPending] = useState(false)
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  /** Set once the password was right and the account has a second factor. */
  const [needsFactor, setNeedsFactor] = useState(false)
  const [problem, setProblem] = useState<ProblemDocument>()
  const issues = {
    password: issueOf(problem, 'password'),
    code: issueOf(problem, 'code'),
    passkey: issueOf(problem, 'passkey'),
  }
  const isKnown = Object.values(issues).some((issue) => issue !== undefined)
  const finish = (confirmed: boolean) => {
    setPassword('')
    setCode('')
    setNeedsFactor(false)
    setProblem(undefined)
    onFinish(confirmed)
  }
  async function submit(factor: () => Promise<{ code?: string; passkey?: string } | undefined>) {
    setPending(true)
    try {
      const shown = await factor()
      if (!shown) return
      await request(confirmAt, { body: { password, ...shown } })
      finish(true)
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error
      const isFirst = !needsFactor && issueOf(error.problem, 'code') !== undefined
      setNeedsFactor(needsFactor || isFirst)
      setProblem(isFirst ? undefined : error.problem)
    } finally {
      setPending(false)
    }
  }
  const withPasskey = async () => {
    const passkey = await passkeyAnswer()
    return passkey === undefined ? undefined : { passkey }
  }
  return (
    <Confirm
      open={open}
      onOpenChange={(isOpen) => isOpen || finish(false)}
      title={t('title')}
      consequences={<p>{t('text')}</p>}
      action={t('action')}
      tone="main"
      change={{ isPending, problem: isKnown ? undefined : problem, reset: () => setProblem(undefined) }}
      isIncomplete={password === '' || (needsFactor && code.trim() === '')}
      onConfirm={() => void submit(async () => (needsFactor ? { code } : {}))}
    >
      <Field
        label={t('password')}
        type="password"
        name="password"
        autoComplete="current-password"
        value={password}
        onChange={({ target }) => setPassword(target.value)}
        error={issues.password === undefined ? undefined : t('wrong')}
        required
      />
      {needsFactor && (
        <>
          <SecondFactorCodeField
            value={code}
            onChange={({ target }) => setCode(target.value)}
            error={issues.code === undefined ? undefined : t('wrongCode')}
          />
          <Button tone="plain" aria-disabled={isPending} onClick={() => isPending || void submit(withPasskey)}>
            {t('passkey')}
          </Button>
          {issues.passkey !== undefined && <p role="alert">{t('wrongPasskey')}</p>}
        </>
      )}
    </Confirm>
  )
}
