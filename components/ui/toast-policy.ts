/**
 * The hash of the style sheet that sonner inserts when the first toast appears. The content security policy names it, because sonner
 * cannot pass a nonce.
 */
export const toastStyleHash = 'sha256-StEaX+se6YS7pqjzrzMIA0KaX9zF/8zAhvQXZAe5epY='
