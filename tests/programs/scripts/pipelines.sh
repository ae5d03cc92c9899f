# Pipelines of many short programs and of sorts that spill into files.
set -eu
grep -q libhakmem /proc/self/maps && echo true >> inside || echo false >> inside
grep -q libhakmem "/proc/$$/maps" && echo true >> inside || echo false >> inside

seq 1 120000 | awk '{ printf "%06d %s %d\n", ($1 * 7919) % 1000003, substr("abcdefghijklmnopqrstuvwxyz", $1 % 20, 6), $1 % 97 }' > lines
sort --parallel=2 -S 2M lines | uniq | cksum
sort -k 2,2 -k 3,3n -k 1,1r lines | cksum
awk '{ count[$2] += $3; last[$3] = $1 } END { for (k in count) print k, count[k]; for (k in last) print k, last[k] }' lines | sort
sed -E 's/([a-e]+)/<\1>/g; s/ /-/g; /9$/d' lines | cksum
cut -d ' ' -f 2 lines | sort | uniq -c | sort -rn -k 1,1 -k 2,2
join <(sort lines) <(sort lines | sed 's/$/ again/' | head -n 50000) | cksum
seq 1 400 | xargs -P 4 -n 5 sh -c 'for n; do echo "$((n * n))"; done' sh | sort -n | cksum
tr a-z A-Z < lines | rev | paste - - - | fold -w 50 | cksum
tar -cf - lines | gzip -9 | gzip -dc | tar -xOf - | cksum
split -n l/7 lines piece. && cat piece.* | cmp - lines && diff <(sort -r lines) <(sort lines | tac) && echo equal

declare -A seen
text=
for ((i = 0; i < 20000; i++)); do
  seen[key$((i * 31 % 4001))]=$i
  text+="${i}x"
done
echo "${#seen[@]} ${seen[key7]} ${#text} ${text//[0-9]/}" | cksum
for i in {1..100}; do (echo "sub $i $(echo "in $i")"); done | cksum
