/** Written from the picture's CSS when the modules are joined. */
export const STYLE: string;
