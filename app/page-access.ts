import { cookies, headers } from 'next/headers'
import { forbidden, redirect } from 'next/navigation'
import { cache } from 'react'
import type { z } from 'zod'
import { mayOpen, type PageName, pageAt, pageNamed } from '#components/frame/pages.ts'
import { app } from '#lib/app-instance.ts'
import type { AccountView } from '#lib/domains/accounts/contract.ts'
import type { ErasuresAhead } from '#lib/domains/privacy-requests/rules.ts'
import type { PageView } from '#lib/http/page-view.ts'
import type { OperationShape, RawInput } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { UseCase } from '#lib/kernel/use-case.ts'

const pageView = cache((): PageView => new Map())

/** Calls a use case as the signed-in person and returns its output. @throws {Problem} if the use case rejects the call */
export async function callUseCase<O extends OperationShape>(
  useCase: UseCase<O>,
  input: Partial<RawInput> = {},
): Promise<z.output<O['output']>> {
  const body = await app.asPerson((await cookies()).toString(), useCase, input, pageView())
  return useCase.operation.output.parse(body) as z.output<O['output']>
}

/** The signed-in person; undefined when nobody is signed in. Loaded once per page. */
export const currentPerson = cache(async (): Promise<AccountView | undefined> => {
  try {
    return (await callUseCase(app.accounts.me)).data
  } catch (error) {
    if (Problem.is(error) && error.status === 401) return undefined
    throw error
  }
})

/** As {@link currentPerson}, for the frame around every page. Returns undefined instead of failing when a store is unavailable. */
export async function personForFrame(): Promise<AccountView | undefined> {
  try {
    return await currentPerson()
  } catch (error) {
    if (Problem.is(error)) return undefined
    throw error
  }
}

/** The pending and running erasures of the person's data, for the frame. Returns none instead of failing when a store is unavailable. */
export const erasuresForFrame = cache(async (accountId: string): Promise<ErasuresAhead> => {
  try {
    return await app.requests.erasuresAhead(accountId)
  } catch (error) {
    if (Problem.is(error)) return { shown: [], total: 0 }
    throw error
  }
})

/** Whether consequential actions need a second admin, for the labels of buttons. Returns false when a store is unavailable. */
export async function approvalRequiredForFrame(): Promise<boolean> {
  try {
    return await app.approvals.isRequired()
  } catch (error) {
    if (Problem.is(error)) return false
    throw error
  }
}

/** The signed-in person. Redirects everybody else to the sign-in page, which returns to `path`. */
async function signedIn(path: string): Promise<AccountView> {
  return (await currentPerson()) ?? redirect(`/sign-in?callbackUrl=${encodeURIComponent(path)}`)
}

/** As {@link signedIn}. Redirects a person with a one-time password to the page that changes it. */
export async function requireCompletedSignIn(path: string): Promise<AccountView> {
  const person = await signedIn(path)
  if (person.must_change_password) redirect('/account/password')
  return person
}

/**
 * The person who opens a page, after its access checks: redirects to the sign-in, the change of a one-time password or the page that adds
 * a required second factor if needed, and
 * responds with 403 if the person's role may not open the page.
 */
export async function requirePageAccess(name: PageName): Promise<AccountView> {
  const page = pageNamed(name)
  const path = (await headers()).get('x-path') ?? page.path
  const person = page.isOpenToUnsettled ? await signedIn(path) : await requireCompletedSignIn(path)
  if (person.second_factor.is_missing && !page.isOpenWithoutFactor) redirect('/account/second-factor')
  if (!mayOpen(page, person.role)) forbidden()
  return person
}

/**
 * As {@link requirePageAccess}, for layouts: determines the page from the URL. A page with a loading state has already sent its status code when it
 * checks access; its layout has not, so it can still respond with a redirect or 403. Pages nevertheless check access themselves.
 */
export async function requireCurrentPageAccess(): Promise<AccountView | undefined> {
  const page = pageAt((await headers()).get('x-path') ?? '')
  return page?.roles === undefined || page.isOpenToErased ? undefined : requirePageAccess(page.name)
}
