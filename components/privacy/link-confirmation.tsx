'use client'

import { useMutation } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { focusOnMount } from '#components/ui/focus-on-mount.ts'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { type Endpoint, RequestRefused, request } from '#lib/client/request.ts'
import type { useLink as linkUse } from '#lib/domains/privacy-requests/contract.ts'

const place: Endpoint<typeof linkUse> = { method: 'post', path: '/api/privacy/links/use' }
const purposes = ['verify', 'cancel', 'address'] as const
interface Given {
  purpose: (typeof purposes)[number]
  token: string
}

function givenIn(fragment: string): Given | undefined {
  const [name, token] = fragment.replace(/^#/, '').split('.')
  const purpose = purposes.find((one) => one === name)
  return purpose && token ? { purpose, token } : undefined
}

/** Explains what the link in an email does, and does it only when the person presses the button. */
export function LinkConfirmation() {
  const t = useTranslations('confirm')
  const router = useRouter()
  const [given, setGiven] = useState<Given | 'none'>()
  const using = useMutation({
    mutationFn: (body: Given) => request(place, { body }),
    onSuccess: () => {
      // Remove the used link from the history.
      window.history.replaceState(null, '', window.location.pathname)
      // If the person is signed in, this updates the banner.
      router.refresh()
    },
  })
  const { reset } = using
  // The server never receives the fragment, so the first render does not have it.
  useEffect(() => {
    const read = () => {
      setGiven(givenIn(window.location.hash) ?? 'none')
      reset()
    }
    read()
    window.addEventListener('hashchange', read)
    return () => window.removeEventListener('hashchange', read)
  }, [reset])
  const problem = using.error instanceof RequestRefused ? using.error.problem : undefined

  if (using.isSuccess)
    return (
      <Alert tone="done" title={t(`${using.data.data.purpose}.done`)} ref={focusOnMount} isLive>
        <p>{t(`${using.data.data.purpose}.next`)}</p>
      </Alert>
    )
  if (given === undefined) return <p className="text-quiet">{t('reading')}</p>
  if (given === 'none')
    return (
      <Alert tone="warning" title={t('missing.title')}>
        <p>{t('missing.text')}</p>
      </Alert>
    )
  const isLate = given.purpose === 'cancel' && problem?.code === 'wrong_state'
  // Pressing again would have no effect.
  if (problem && (isLate || problem.code === 'link_spent'))
    return (
      <div key="over" ref={focusOnMount} tabIndex={-1} className="grid gap-5">
        {isLate ? (
          <Alert tone="warning" title={t('late.title')} isLive>
            <p>{t('late.text')}</p>
          </Alert>
        ) : (
          <ProblemAlert problem={problem} />
        )}
        <p>
          {t.rich('spent', {
            account: (words) => (
              <TextLink href={given.purpose === 'address' ? '/account' : '/settings/privacy/requests'}>
                {words}
              </TextLink>
            ),
          })}
        </p>
      </div>
    )
  return (
    <div className="grid gap-5">
      {problem && <ProblemAlert problem={problem} />}
      <p>{t(`${given.purpose}.what`)}</p>
      <Button
        aria-disabled={using.isPending}
        onClick={() => {
          if (!using.isPending) using.mutate(given)
        }}
        className="justify-self-start"
      >
        {using.isPending ? t('busy') : t(`${given.purpose}.button`)}
      </Button>
      <p className="text-sm text-quiet">{t('lead')}</p>
    </div>
  )
}
