// Keeps the teacher's secret in this browser for a day. Other sites' pages never send it, and the app's policy runs no foreign script.

/** @param {{ data: [string, string] }} mounted */
export default function ({ data: [name, value] }) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  const cookie = `${name}=${value}`;
  if (value ? document.cookie.split("; ").includes(cookie) : !document.cookie.includes(`${name}=`)) return;
  document.cookie = `${cookie}; path=/; SameSite=Strict; max-age=${value ? 86400 : 0}${secure}`;
}
