/**
 * The hashes of the style sheet that sonner inserts when the first toast appears: empty, then with its text. The content security policy
 * names them, because sonner cannot pass a nonce.
 */
export const toastStyleHashes = [
  'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
  'sha256-StEaX+se6YS7pqjzrzMIA0KaX9zF/8zAhvQXZAe5epY=',
] as const
