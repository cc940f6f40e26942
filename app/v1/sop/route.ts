import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.sops.list)
export const POST = route(app.sops.contribute)
