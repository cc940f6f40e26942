import { cookies, headers } from 'next/headers'
import { forbidden, redirect } from 'next/navigation'
import { cache } from 'react'
import type { z } from 'zod'
import { mayOpen, type PageName, pageAt, pageNamed } from '#components/frame/pages.ts'
import { app } from '#lib/app-instance.ts'
import type { AccountView } from '#lib/domains/accounts/contract.ts'
import type { ErasuresAhead } from '#lib/domains/privacy-requests/rules.ts'
import type { OperationShape, RawInput } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { UseCase } from '#lib/kernel/use-case.ts'

/** What an operation answers to the person who opens the page. Throws the problem. */
export async function ask<O extends OperationShape>(
  useCase: UseCase<O>,
  input: Partial<RawInput> = {},
): Promise<z.output<O['output']>> {
  const body = await app.asPerson((await cookies()).toString(), useCase, input)
  return useCase.operation.output.parse(body) as z.output<O['output']>
}

/** Who opens the page; undefined when nobody is signed in. Asked once a page. */
export const currentPerson = cache(async (): Promise<AccountView | undefined> => {
  try {
    return (await ask(app.accounts.me)).data
  } catch (error) {
    if (Problem.is(error) && error.status === 401) return undefined
    throw error
  }
})

/** As {@link currentPerson}, for what stands on every page: a store that is down must not take the frame with it. */
export async function personForFrame(): Promise<AccountView | undefined> {
  try {
    return await currentPerson()
  } catch (error) {
    if (Problem.is(error)) return undefined
    throw error
  }
}

/** The erasures that wait for, or take, what is the person's; none while the store is down, for the frame must stand. */
export async function erasuresForFrame(accountId: string): Promise<ErasuresAhead> {
  try {
    return await app.requests.erasuresAhead(accountId)
  } catch (error) {
    if (Problem.is(error)) return { shown: [], total: 0 }
    throw error
  }
}

/** Who is signed in; others are sent to sign in, and come back to `path`. */
async function signedIn(path: string): Promise<AccountView> {
  return (await currentPerson()) ?? redirect(`/sign-in?callbackUrl=${encodeURIComponent(path)}`)
}

/** As {@link signedIn}; whoever still has a one-time password changes it first. */
export async function settled(path: string): Promise<AccountView> {
  const person = await signedIn(path)
  if (person.must_change_password) redirect('/account/password')
  return person
}

/**
 * Whoever opens a page of the list: signed in, with a password of their own, and of a role that the list lets in; else they are sent to do
 * so, or refused with 403.
 */
export async function opened(name: PageName): Promise<AccountView> {
  const page = pageNamed(name)
  const path = (await headers()).get('x-path') ?? page.path
  const person = page.isOpenToUnsettled ? await signedIn(path) : await settled(path)
  if (!mayOpen(page, person.role)) forbidden()
  return person
}

/**
 * As {@link opened}, for a layout, of whichever page the address is. A page with a picture of its loading has begun its answer before it
 * asks who opens it; its layout has not, so that redirect and refusal have their status. Every page asks for itself all the same.
 */
export async function openedHere(): Promise<AccountView | undefined> {
  const page = pageAt((await headers()).get('x-path') ?? '')
  return page?.roles === undefined || page.isOpenToErased ? undefined : opened(page.name)
}
