import { usePathname, useSearchParams } from 'next/navigation'

/** The sign-in page, which returns to this page with its filters, tab and drawer. */
export function useSignInHref(): string {
  const path = usePathname()
  const query = useSearchParams().toString()
  return `/sign-in?callbackUrl=${encodeURIComponent(query === '' ? path : `${path}?${query}`)}`
}
